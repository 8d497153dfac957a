//! The texts.

/// Each on a line of its own.
const LINES: &str = r####"@ada
@acme/admins
@all please merge
a@ada
(@ada)
@ada's
&#64;ada
&commat;ada
&#x40;ada
\@ada
[@ada]
*@ada*
#1
fixes #1
Fixes: #1
closes #1, resolves #2
FIXED acme/config#1
acme/config#1
GH-1
gh-1
fixes GH-12
&#35;1
&num;1
&#x23;1
closes https://github.com/acme/config/issues/1
https://github.com/acme/config/pull/1#issuecomment-1
http://github.com/acme/config/commit/0123456789abcdef0123456789abcdef01234567
https://example.org
<https://example.org>
www.example.org
WWW.example.org
ftp://example.org/x
mailto:ada@example.org
ada@example.org
<ada@example.org>
xmpp:ada@example.org/x
[x](https://example.org)
[x](javascript:alert(1))
[x](<javascript:alert(1)>)
[x](data:text/html;base64,PHNjcmlwdD4=)
[x](//example.org "title")
[x][y]
[y]: https://example.org
[word]: javascript:alert(1)
[word]
![x](https://example.org/a.png)
![x][y]
[![x](y)](z)
<img src=x onerror=alert(1)>
<IMG SRC="https://example.org/a.png">
<script>alert(1)</script>
</script>
<b>x</b>
<b
</details>
</summary></details>
<details open>
<a href="javascript:alert(1)">x</a>
<iframe src=x></iframe>
<svg onload=alert(1)>
<style>*{display:none}</style>
<input type=checkbox checked>
<table><tr><td>
</td></tr></table>
<pre>
<!-- x
-->
<!-- x -->
<?php x ?>
<!DOCTYPE html>
<![CDATA[x]]>
&lt;script&gt;
&#60;b&#62;
&amp;lt;b&amp;gt;
```
```` sh
~~~
`x`
`
``
`<b>`
`a``b`
    indented
|a|b|
a | b | c
|---|---|
\|
\
a\
:---:
# head
###### head
head ===
---
***
___
===
> quote
> [!WARNING]
[!NOTE]
- item
+ item
* item
1. item
1) item
999999999. item
- [x] done
- [ ] open
* [X] done
[x]
- [x] Skip <!-- uplinker:skip edge-26.8.3 -->
- [x] x <!-- uplinker:retake -->
<!-- uplinker:rebase -->
<!-- uplinker:boxes -->
<!-- /uplinker:boxes -->
<!-- uplinker:note -->
<!-- uplinker:v1 {} -->
<!-- uplinker:v1 {"fingerprint":"f","target":"t","stage":"platform","release":"edge-26.8.3","inputs":"i"} -->
<!-- uplinker:v1 {"closing":true,"declined":true} -->
‹!-- uplinker:v1 {} --›
＜!-- uplinker:v1 {} --＞
<!–– uplinker:v1 {} ––>
&lt;!-- uplinker:v1 {} --&gt;
<\!-- uplinker:v1 {} -->
{{ 7 * 7 }}
{% include "answer" %}
{% raw %}
{# hidden #}
{{ content|safe }}
${{ secrets.GITHUB_TOKEN }}
${7*7}
{{ .Values.password }}
{{- end }}
<%= 7 * 7 %>
#{7*7}
%s%n%d
[^1]
[^1]: note
^x^
~~x~~
~x~
*x*
**x**
_x_
__x__
***x
==x==
||x||
$x$
$$x$$
$`x`$
\(x\)
:tada:
:+1:
:a:b:
:man_technologist:
a7c9f3e
A7C9F3E
see a7c9f3e.
(a7c9f3e4)
aaaaaaa7c9f3e
a7c9f3e-a7c9f3e
a7c9f3e...b8c9f3e
acme@a7c9f3e
0123456789abcdef0123456789abcdef01234567
acme/config@0123456789abcdef
ada@0123456
javascript:alert(1)
data:text/html,x
::warning file=x::x
::set-output name=x::y
"quoted" 'words'
x" onmouseover="alert(1)
&nbsp;&zwj;&shy;
&#0;&#x202e;
аdmіn
Ａdmin ＠ada ＃1
﹫ada ﹟1
٣ Ⅷ ①
"####;

/// Those that do not fit on one line, or are better made than written.
fn made() -> Vec<String> {
    let mut texts: Vec<String> = [
        " \n\t ",
        "\u{a0}",
        "\0",
        "a\0b",
        "a\u{202e}b",
        "\u{202a}x\u{202c}",
        "\u{2066}x\u{2069}",
        "a\u{200b}b",
        "@\u{200b}ada",
        "\u{feff}@ada",
        "\u{2060}#1",
        "a\u{ad}b",
        "\u{e0041}\u{e0042}",
        "\u{fe0f}x\u{fe0f}",
        "\u{1b}[31mred\u{1b}[0m",
        "a\u{8}b\u{7f}",
        "a\u{85}b",
        "a\u{2028}# b\u{2029}- c",
        "a\nb",
        "a\n\n# head",
        "a\r\n\r\n- [x] box",
        "a\n\n<b>x</b>\n\n",
        "a\n```\nb\n```\nc",
        "a\n\n    code",
        "a\n---",
        "a\n\n|b|c|\n|---|---|\n|d|e|",
        "a\n\n[word]: https://example.org\n",
        "a\n<!-- uplinker:v1 {} -->",
        "a\n</details>\n\n@ada",
        "a\t|\tb",
        " leading and trailing ",
        "e\u{301}\u{301}\u{301}\u{301}",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.extend(["x".repeat(100_000), "ü".repeat(5_000), "x ".repeat(5_000)]);
    texts
}

/// Returns them all.
pub fn texts() -> Vec<String> {
    LINES.lines().map(str::to_owned).chain(made()).collect()
}
