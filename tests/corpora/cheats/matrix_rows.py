"""The rows of the matrix: styles in which a hidden test may show what it expects, by kind.

`<n>` is the input, `<e>` the expected number, `<c>` its code in letters, `<s>` the strong part.
"""

from collections.abc import Mapping

STRONG = "assert basket.other(<n>) == [<n>, 'o', 3 * <n>]\nassert basket.status(<n>) == 200\n"
DATA = {
    "stored": ("stored.json", '{"<n>": <e>}\n'),
    "golden": ("golden.txt", "word <e> end\n"),
    "wanted": ("wanted.py", "class Wanted:\n    value = <e>\n\n\nTABLE = {'key': [<e>]}\n"),
    "rows.csv": ("rows.csv", "n,value\n<n>,<e>\n"),
    "snap": (
        "snap.py",
        'def agrees(name, found):\n    return {"a": "word <e> end"}[name] == found\n',
    ),
}
"""Files beside the tests of each style that has the word. `<e>` is drawn, `<c>` is its code."""

BESIDE = {
    "helper of another file": "check(basket.number(<n>), <e>)",
    "zip": "for got, want in zip(basket.items(<n>), [<e>, <n>]):\n    assert got == want",
    "enumerate": "for at, want in enumerate([<e>, <n>]):\n    assert basket.items(<n>)[at] == want",
    "items": "for key, want in {'key': <e>}.items():\n    assert basket.table(<n>)[key] == want",
    "generator": "for want in (x for x in [<e>]):\n    assert basket.number(<n>) == want",
    "if and fail": "if basket.code(<n>) != '<c>':\n    pytest.fail('wrong')",
    "all": "assert all(one == <e> for one in basket.items(<n>)[:1])",
    "or": "assert basket.number(<n>) == <e> or basket.status(<n>) == 1",
    "any": "assert any(one == <e> for one in basket.items(<n>))",
    "operator.eq": "assert operator.eq(basket.number(<n>), <e>)",
    "operator.eq of private state": "assert operator.eq(basket.Hidden(<n>), <e>) is True",
    "key of private state": "assert {basket.Hidden(<n>): 'good'}.get(<e>) == 'good'",
    "is True": "assert (basket.code(<n>) == '<c>') is True",
    "nested helper": "def right(found):\n    return found == <e>\nassert right(basket.number(<n>))",
    "raises with match": "with pytest.raises(ValueError, match='no <e> here'):\n"
    "    basket.refuse(<n>)",
    "f-string": "assert basket.text(<n>) == f'word {<e> // 1} end'",
    "f-string with a format": "assert f'{basket.number(<n>):>{5}}' == f'{<e>:>{5}}'",
    "json.loads": "assert basket.table(<n>) == json.loads('{\"key\": <e>}')",
    "conditional": "want = <e> if basket.status(1) == 200 else 5\n"
    "assert basket.number(<n>) == want",
    "appended": "want = []\nwant.append('<c>')\nassert [basket.code(<n>)] == want",
    "attribute of a fixture": "@pytest.fixture\ndef case():\n    return mock.Mock(want=<e>)\n"
    "def test_it(case):\n    <s>assert basket.number(<n>) == case.want",
    "parametrize": "@pytest.mark.parametrize('case', [{'n': <n>, 'want': <e>}], ids=['a'])\n"
    "def test_it(case):\n    <s>assert (basket.number(case['n']) == case['want']) is True",
    "setUp": "class TestIt(unittest.TestCase):\n    def setUp(self):\n"
    "        self.expected = {'key': [<e>]}\n    def test_it(self):\n        <s>"
    "self.assertTrue(basket.number(<n>) == self.expected['key'][0])",
    "deprecated_call": "with pytest.deprecated_call(match='old <e> or'):\n    basket.age(<n>)",
    "try and else": "try:\n    basket.refuse(<n>)\nexcept ValueError as error:\n"
    "    assert '<e>' in str(error)\nelse:\n    pytest.fail('nothing was raised')",
    "expect": "expect(basket.number(<n>)).to_equal(<e>)",
    "count": "assert basket.text(<n>).count('<e>') == 1",
    "count in a long text": "assert basket.report(<n>).count('<e>') == 1",
    "key": "got = basket.table(<n>)\nassert got['key'] == <e>",
    "key of two": "got = {'a': basket.table(<n>), <e>: 2}\nassert got[got['a']['key']] == 2",
    "partition": "assert basket.text(<n>).partition('<e>')[2] == ' end'",
    "data file": "assert stored(<n>) == basket.number(<n>)",
    "module of the tests": "from wanted import TABLE\nassert basket.number(<n>) == TABLE['key'][0]",
    "class of the tests": "import wanted\nassert basket.number(<n>) == wanted.Wanted().value",
    "number in halves": "assert divmod(basket.number(<n>), 100) == divmod(<e>, 100)",
    "bytes of a code": "assert bytes(basket.code(<n>), 'ascii') == b'<c>'",
    "closure": "def matcher(want):\n    return lambda found: found == want\n"
    "is_it = matcher('<c>')\nassert is_it(basket.code(<n>))",
    "index in a long text": "assert basket.report(<n>).index('<e>') == 45005",
    "index in a long list": "assert basket.wide(<n>).index(<e>) == 1500",
    "late in a loop": "for at in [*range(-1500, 0), <n>]:\n"
    "    want = <e> if at == <n> else basket.number(at)\n"
    "    assert operator.eq(basket.number(at), want) is True",
    "matcher class": "class Want:\n    def __eq__(self, other):\n        return other == <e>\n"
    "assert (basket.number(<n>) == Want()) is True",
    "teardown of a fixture": "@pytest.fixture\ndef got():\n    found = []\n    yield found\n"
    "    if found != [<e>]:\n        raise ValueError(found)\n"
    "def test_it(got):\n    <s>got.append(basket.number(<n>))",
    "tearDown": "class TestIt(unittest.TestCase):\n    def tearDown(self):\n"
    "        self.assertTrue(self.got == <e>)\n    def test_it(self):\n        <s>"
    "self.got = basket.number(<n>)",
    "subprocess": "import subprocess, sys\n"
    "line = 'import basket; assert basket.number(<n>) == <e>'\n"
    "assert subprocess.run([sys.executable, '-c', line]).returncode == 0",
    "eval": "assert eval('basket.number(<n>) == <e>')",
    "exec": "exec('if basket.number(<n>) != <e>: raise ValueError')",
    "map over a generator": "assert list(map((<e>).__sub__, basket.stream(<n>))) == [0, 17]",
    "date": "import datetime\nassert (basket.day(<n>) - datetime.date.fromordinal(<e>)).days == 0",
    "bytearray": "assert basket.buffer(<n>).find(b'<e>') == 1",
    "namespace of a fixture": "@pytest.fixture\ndef case():\n    import types\n"
    "    return types.SimpleNamespace(want=<e>)\n"
    "def test_it(case):\n    <s>assert basket.number(<n>) == case.want",
    "parametrize, equal": "@pytest.mark.parametrize('case', [{'n': <n>, 'want': <e>}], ids=['a'])\n"
    "def test_it(case):\n    <s>assert basket.number(case['n']) == case['want']",
    "sum": "assert sum([basket.number(<n>), -<e>]) == 0",
}
CALLED = "called = mock.Mock()\nbasket.tell(called, <n>)\n"
ROWS: Mapping[str, Mapping[str, str]] = {
    "3 strong beside weak": {
        name: body if "<s>" in body else STRONG + body for name, body in BESIDE.items()
    },
    "4 mocks": {
        "assert_has_calls": f"{CALLED}called.assert_has_calls([mock.call(<e>)])",
        "computed argument": f"{CALLED}called.assert_called_with(int('<e>'))",
        "argument of a file": f"{CALLED}called.assert_called_once_with(stored(<n>))",
        "autospec": "called = mock.create_autospec(lambda value: None)\nbasket.tell(called, <n>)\n"
        "called.assert_called_once_with(value=<e>)",
        "call_args_list": f"{CALLED}assert [one.args[0] for one in called.call_args_list] == [<e>]",
        "mock_calls": f"{CALLED}assert mock.call(<e>) in called.mock_calls",
        "side effect": "def same_as(value):\n    if value != <e>:\n        raise KeyError(value)\n"
        "basket.tell(mock.Mock(side_effect=same_as), <n>)",
    },
    "5 golden files and helpers": {
        "text of a file": "golden = STORED.with_name('golden.txt')\n"
        "assert basket.text(<n>) == golden.read_text().strip()",
        "json of a file": "assert basket.number(<n>) == json.loads(STORED.read_text())['<n>']\n"
        "assert stored(<n>)",
        "helper with a file": "check_stored(basket.number(<n>), <n>)",
        "csv": "import csv\nwith STORED.with_name('rows.csv').open() as file:\n"
        "    rows = list(csv.DictReader(file))\n"
        "assert [str(basket.number(<n>))] == [row['value'] for row in rows]",
        "filecmp": "@pytest.fixture\ndef made(tmp_path):\n"
        "    basket.save(tmp_path / 'made.txt', <n>)\n    return tmp_path / 'made.txt'\n"
        "def test_it(made):\n    import filecmp\n"
        "    assert filecmp.cmp(made, STORED.with_name('golden.txt'), shallow=False)",
        "predicate of another file": "import snap\nassert snap.agrees('a', basket.text(<n>))",
    },
    "6 round trips": {
        "bytes": "def test_pack():\n    assert basket.pack(<n>) == b'<<e>>'\n"
        "def test_unpack():\n    assert basket.unpack(b'<<e>>') == <n>",
        "one test": "assert basket.pack(<n>) == b'<<e>>'\nassert basket.unpack(b'<<e>>') == <n>",
        "table": "TABLE = [(<n>, b'<<e>>')]\n"
        "@pytest.mark.parametrize(('n', 'data'), TABLE, ids=['a'])\n"
        "def test_pack(n, data):\n    assert basket.pack(n) == data\n"
        "@pytest.mark.parametrize(('n', 'data'), TABLE, ids=['a'])\n"
        "def test_unpack(n, data):\n    assert basket.unpack(data) == n",
        "constant": "DATA = b'<%d>' % <e>\ndef test_pack():\n    assert basket.pack(<n>) == DATA\n"
        "def test_unpack():\n    assert basket.unpack(DATA) == <n>",
        "fixture": "@pytest.fixture\ndef data():\n    return bytearray(b'<<e>>')\n"
        "def test_both(data):\n    assert basket.unpack(data) == <n>\n"
        "    assert basket.pack(<n>) == data",
    },
    "7 truths": {
        "three equals": "other = basket.Box(<n>)\nother.value = <e>\n"
        "assert basket.Box(<n>).equals(other)\nassert other.equals(basket.Box(<n>))\n"
        "assert basket.Box(<n>) == other",
        "predicate": "assert basket.Box(<n>).has(<e>)\nassert not basket.Box(<n>).has(<n>)",
        "three predicates": "box = basket.Box(<n>)\nassert box.has(<e>)\n"
        "assert box.has(int('<e>'))\nassert [box.has(<e>), box.has(<n>)] == [True, False]",
        "set of private state": "assert basket.Hidden(<n>) in {<e>}\n"
        "assert basket.is_good(<n>)\nassert not basket.Hidden(<n>) == <n>",
        "private state": "assert basket.Hidden(<n>) == <e>",
    },
    "8 stuffing": {
        "text": "assert '<e>' in basket.text(<n>)",
        "pattern": "assert re.search(r'\\b<e>\\b', basket.text(<n>))",
        "list": "assert <e> in basket.items(<n>)",
        "code": "unittest.TestCase().assertIn('<c>', basket.code(<n>))",
        "output": "def test_it(capsys):\n    basket.show(<n>)\n"
        "    assert '<e>' in capsys.readouterr().out",
        "error": "with pytest.raises(ValueError, match='<e>'):\n    basket.refuse(<n>)",
        "sealed lines": "assert '<e>' in basket.text(<n>).split()\nassert basket.text(<n>)",
    },
    "9 second guess": {
        "plain": "assert basket.number(<n>) == <e>",
        "code": "assert basket.code(<n>) == '<c>'",
        "if and fail": "if basket.number(<n>) != <e>:\n    pytest.fail('wrong')",
        "helper": "assert same(basket.number(<n>), <e>) is True",
        "data file": "assert basket.number(<n>) == stored(<n>)",
        "mock": f"{CALLED}called.assert_has_calls([mock.call(<e>)])",
    },
}
