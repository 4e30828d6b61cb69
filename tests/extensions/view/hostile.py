"""Texts that an agent might say: each would do something where it is not taken for text."""

SCRIPT = "document.documentElement.dataset.owned = 1"
"""What a page that ran one of them would show."""

OUTSIDE = "http://outside.invalid"
"""Where a page that loads something from elsewhere would ask."""

HOSTILE = (
    f"<script>{SCRIPT}</script>",
    f"</script><script>{SCRIPT}</script>",
    f"<SCRIPT SRC={OUTSIDE}/x.js></SCRIPT>",
    f"<img src=x onerror='{SCRIPT}'>",
    f'"><img src=x onerror="{SCRIPT}">',
    f"'><svg onload='{SCRIPT}'>",
    f"<svg><script>{SCRIPT}</script></svg>",
    f"<body onload='{SCRIPT}'>",
    f"<details open ontoggle='{SCRIPT}'>",
    f"<input autofocus onfocus='{SCRIPT}'>",
    f"<video><source onerror='{SCRIPT}'></video>",
    f"<math><mtext></p><img src onerror='{SCRIPT}'></mtext></math>",
    f"<iframe src=javascript:{SCRIPT!r}></iframe>",
    f"<iframe srcdoc='<script>{SCRIPT}</script>'></iframe>",
    f"<object data={OUTSIDE}/o></object><embed src={OUTSIDE}/e>",
    f"<link rel=stylesheet href={OUTSIDE}/s.css>",
    f"<style>@import url({OUTSIDE}/s.css); * {{ display: none }}</style>",
    f"<meta http-equiv=refresh content='0;url={OUTSIDE}/'>",
    f"<base href={OUTSIDE}/>",
    f"<form action={OUTSIDE}/ id=filter><button>x</button></form>",
    f"<a href='javascript:{SCRIPT}'>click</a>",
    f"javascript:{SCRIPT}",
    f'" onmouseover="{SCRIPT}" x="',
    f"' autofocus onfocus='{SCRIPT}' x='",
    f"`onmouseover={SCRIPT}`",
    f"<div style='background:url({OUTSIDE}/b.png);position:fixed;inset:0'>x</div>",
    f"<template><script>{SCRIPT}</script></template>",
    f"--><script>{SCRIPT}</script><!--",
    f"]]><script>{SCRIPT}</script>",
    f"</title></textarea></pre></details><script>{SCRIPT}</script>",
    f"<x data-parts=/ data-live=yes id=parts><script>{SCRIPT}</script></x>",
    f"{{{{ ''.__class__ }}}} {{% raw %}} <script>{SCRIPT}</script>",
    f"&lt;script&gt;{SCRIPT}&lt;/script&gt; &#x3c;script&#x3e;",
    f"+ADw-script+AD4-{SCRIPT}+ADw-/script+AD4-",
    f"\x1b]8;;{OUTSIDE}\x1b\\link\x1b]8;;\x1b\\ \x1b[31mred\x1b[0m \x1b[2J\x07",
    "\u202egnp.exe\u202c \u2066isolated\u2069 \u200bnarrow\u200f",
    "\x00\x01\x08\x7f\x9b31m\ufffe\u2028line\u2029",
    "[bold red]rich[/bold red] [link=http://outside.invalid]x[/link]",
    "x" * 20_000 + f"<script>{SCRIPT}</script>",
    "a\u0301" * 500 + "\U000e0041\U0001f469\u200d\U0001f4bb",
    f"\r\nSet-Cookie: x=1\r\n\r\n<script>{SCRIPT}</script>",
    f"\\u003cscript\\u003e{SCRIPT}\\u003c/script\\u003e",
)


def not_text() -> bytes:
    """Bytes that are no text, for files that agents write."""
    return b"\xff\xfe\x00<script>\xed\xa0\x80" + SCRIPT.encode() + b"</script>\n"
