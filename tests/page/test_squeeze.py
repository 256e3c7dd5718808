#!/usr/bin/env python3
"""test_squeeze.py: what embed_page leaves of a script means what it meant before: cases made by hand, byte by byte, and
by what they compute where node is there (test_browser.py lets Chromium parse and run the whole page)."""

import os
import re
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TFPROF_BUILD", os.path.join(ROOT, "build"))
EMBED = os.path.join(BUILD, "ext", "report", "embed_page")
OPENING, CLOSING = "(() => {\n'use strict';\n", "})();\n"

CASES = [  # a module, and what is left of it
    ("const a = 1; // words 'in it\nconst b = 2;", "const a=1;const b=2;"),
    ("f(a) // ends without a semicolon\ng(b)", "f(a)\ng(b)"),
    ("const c = { // `not` a template\n  d: 1, // last\n};", "const c={d:1,};"),
    ("a = b /* c\n d */ e()", "a=b\ne()"),
    ("a = b /* c */ + d", "a=b+d"),
    ("const u = 'http://x/*y*/ z', v = \"it's // so\";", "const u='http://x/*y*/ z',v=\"it's // so\";"),
    ("x = 'a\\'  // b' + c;", "x='a\\'  // b'+c;"),
    ("t = `  a // b\n  /* c */ ${ d + `${ e  // f\n}  g` }  ' `;", "t=`  a // b\n  /* c */ ${d+`${e}  g`}  ' `;"),
    ("t = `\\`  ${ { a : 1 }.a }  \\${  b`;", "t=`\\`  ${{a:1}.a}  \\${  b`;"),
    ("r = /[/'\"`]  \\/ x/g.test(y) / 2;", "r=/[/'\"`]  \\/ x/g.test(y)/2;"),
    ("if (a) /b  c/.exec(d); q = (a) / b / c;", "if(a)/b  c/.exec(d);q=(a)/b/c;"),
    ("return /a  b/ in c", "return/a  b/ in c"),
    ("a = b / /c/ .d", "a=b/ /c/ .d"),
    ("a = i++ / 2 / n", "a=i++ /2/n"),
    ("a = b + +c - -d + ++e - --f", "a=b+ +c- -d+ ++e- --f"),
    ("a = b < !--c", "a=b< !--c"),
    ("a = 1 .toFixed(2) + 2. .toFixed() + 1e-3", "a=1 .toFixed(2)+2. .toFixed()+1e-3"),
    ("a = b ? .5 : c", "a=b? .5:c"),
    ("a = b\n++c\nd = e", "a=b\n++c\nd=e"),
    ("return\na", "return\na"),
    ("a = b\n[c]\n(d)", "a=b\n[c]\n(d)"),
    ("a = b +\n  c", "a=b+c"),
    ("a.return / 2 / b", "a.return/2/b"),
    ("const f = async (a) => a in b && typeof a === 'c'", "const f=async(a)=>a in b&&typeof a==='c'"),
    ("const f = (a) => b((c) => c, (d, e) => d);", "const f=a=>b(c=>c,(d,e)=>d);"),
    ("return (a) => () => ({ a })", "return(a)=>()=>({a})"),
    ("if (a) { b(); c = 'd;'; } else { return; }", "if(a){b();c='d;'}else{return;}"),
    ("{ for (;;); } { while (a); } { if (b) c; else; }", "{for(;;);}{while(a);}{if(b)c;else;}"),
    ("{ do a++; while (b); } { c = /d;/; } { e = `;`; }", "{do a++;while(b);}{c=/d;/}{e=`;`}"),
    ("import { x, y } from './z.js';\nexport const w = x;\nexport function v() { return w }",
     "const w=x;function v(){return w}"),
    ("import {\n  x,\n  y,\n} from './z.js';\nexport const w = x;", "const w=x;"),
]
DAMAGED = [("a = 'b\nc'", 1, "a string that does not end"), ("a\n= `b ${c}", 2, "a template that does not end"),
           ("a /* b", 1, "a comment that does not end"), ("a = /[/]b\n", 1, "a regular expression that does not end"),
           ("a = {}\n/b/.c", 2, "put parentheses"), ("(a]", 1, "closes another"), ("{ (a)", 3, "not closed"),
           ("export default a", 1, "another kind"), ("import {\n a } from 'b'", 1, "an import that does not end")]
# What these give is the same before and after.
COMPUTED = """export function all() {
  let n = 6, g = 2 // one
  const list = [n / g / 1, 'x//y'.length, /\\/[/]/.test('//'), `a ${n /* two */ + 1 // three
  } b`, n++ + ++g, n - -g, n > -1 ? .5 : 1]
  if (n) /x/.exec('x')
  for (const each of list)
    n += String(each).length
  do n--; while (n > 3) return [...list, n,
    2 .toFixed(1)]
}
"""


def squeeze(directory, module):
    """The text that embed_page makes of it, or what it says."""
    for name, text in (("page.html", "<p>@x@</p>"), ("module.js", module)):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(text)
    done = subprocess.run([EMBED, "page.c", "page.html", "module.js"], cwd=directory, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr
    return script_of(os.path.join(directory, "page.c")), None


def script_of(path):
    with open(path, encoding="ascii") as file:
        literal = re.search(r"const char page_script\[\] =\n(.*?);\nconst unsigned", file.read(), re.S)[1]
    text = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', literal))

    def one(found):
        return "\n" if found[1] == "n" else chr(int(found[1], 8)) if len(found[1]) == 3 else found[1]
    return re.sub(r"\\([0-7]{3}|.)", one, text).encode("latin-1").decode("utf-8")


def main():
    with tempfile.TemporaryDirectory() as directory:
        for module, wanted in CASES:
            # A file without import or export is a library, which stays as it is.
            script, error = squeeze(directory, module + "\nexport const last = 1;\n")
            assert error is None, (module, error)
            assert script.startswith(OPENING) and script.endswith(CLOSING), script
            left = script[len(OPENING):-len(CLOSING)]
            assert re.sub(r"\n?const last=1;\n$", "", left) == wanted, (module, left, wanted)
        for module, line, words in DAMAGED:
            script, error = squeeze(directory, module + ("" if "port " in module else "\nexport const last = 1;\n"))
            assert script is None and f"module.js:{line}: " in error and words in error, (module, error)
        node = shutil.which("node")
        script, error = squeeze(directory, COMPUTED)
        assert error is None, error
        if node:
            ask = "console.log(JSON.stringify({}()))"
            before, after = [subprocess.run([node, "-e", text], capture_output=True, text=True, check=True).stdout
                             for text in (COMPUTED.replace("export ", "") + ask.format("all"),
                                          script[:-len(CLOSING)] + ask.format("all") + CLOSING)]
            assert before == after and before.startswith("[3,"), (before, after)
            whole = os.path.join(directory, "whole.js")
            with open(whole, "w", encoding="utf-8") as file:
                file.write(script_of(os.path.join(BUILD, "ext", "report", "page.c")))
            subprocess.run([node, "--check", whole], check=True)


if __name__ == "__main__":
    main()
