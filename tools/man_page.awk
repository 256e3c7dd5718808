# man_page.awk: a page of the manual, made of what programs print for --help.
#
#   { tfprof --help; printf '\f\n'; tfprof report --help; } | awk -v name=tfprof -v date=2026-11-29 -v release=0.2.0 \
#     -v see=tfprof-capture -v parts="tfprof report" -f tools/man_page.awk > tfprof.1
#
# parts: what the texts behind the first are of, separated by commas; a line of \f stands before each.
#
# What it knows of these texts:
#   - The first sentence says what the program is.
#   - "usage:" and the lines below it, until a blank one, are the synopsis.
#   - A line of two to six blanks and an option, a word in capitals or a number, then two blanks or the end of the line,
#     begins an item of a list. Lines that begin further to the right go on with it.
#   - Other lines that begin with blanks are shown as they are.
#   - Everything else is paragraphs. One that begins with "Exit status" has a section of its own.
# The output passes `mandoc -T lint` and `groff -ww -man` (tests/docs/test_man_pages.py).

function escaped(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  gsub(/'/, "\\(aq", text)
  gsub(/`/, "\\(ga", text)
  gsub(/\^/, "\\(ha", text)
  gsub(/~/, "\\(ti", text)
  return text
}

# Paragraphs name options in bold. Only the hyphens of options and of names of programs are those of ASCII.
function prose(text,    result, length_of_option) {
  result = ""
  while (match(text, /(^|[ (])--?[A-Za-z][A-Za-z-]*/)) {
    length_of_option = RLENGTH
    if (substr(text, RSTART, 1) != "-") {
      RSTART++
      length_of_option--
    }
    result = result plain(substr(text, 1, RSTART - 1)) "\\fB" escaped(substr(text, RSTART, length_of_option)) "\\fR"
    text = substr(text, RSTART + length_of_option)
  }
  return result plain(text)
}

function plain(text) {
  gsub(/\\/, "\\e", text)
  gsub(/'/, "\\(aq", text)
  gsub(/`/, "\\(ga", text)
  gsub(/tfprof-/, "tfprof\\-", text)
  return text
}

function put(line) {
  if (line ~ /^[.]/) line = "\\&" line
  print line
}

# Prose, in lines of at most 78 characters.
function put_folded(text,    count_of_words, words, i, line) {
  count_of_words = split(text, words, " ")
  line = words[1]
  for (i = 2; i <= count_of_words; i++) {
    if (length(line) + 1 + length(words[i]) > 78) {
      put(line)
      line = words[i]
    } else {
      line = line " " words[i]
    }
  }
  put(line)
}

function section(title) {
  end_literal()
  print ".SH " title
  in_paragraph = 0
  has_section = 1
}

function begin_literal() {
  if (is_literal) return
  if (!has_section) section("DESCRIPTION")
  print ".PP"
  print ".nf"
  print ".RS 4"
  is_literal = 1
  in_paragraph = 0
}

function end_literal() {
  if (!is_literal) return
  print ".RE"
  print ".fi"
  is_literal = 0
}

# An item's text is put out once it is whole, so that options at the ends of lines are found.
function end_item() {
  if (item == "") return
  end_literal()
  print ".TP"
  put("\\fB" escaped(item) "\\fR")
  put_folded(item_text == "" ? "\\&" : prose(item_text))
  item = item_text = ""
  in_paragraph = 0
}

function end_paragraph() {
  if (paragraph == "") return
  end_literal()
  if (paragraph ~ /^Exit status/) section("EXIT STATUS")
  else if (!has_section) section("DESCRIPTION")
  else print ".PP"
  put_folded(prose(paragraph))
  paragraph = ""
}

function flush() {
  end_item()
  end_paragraph()
}

function first_sentence(text) {
  sub(/[.,] .*|[.]$/, "", text)
  return tolower(substr(text, 1, 1)) == "s" && text ~ /^SQL/ ? text : tolower(substr(text, 1, 1)) substr(text, 2)
}

# The head of a page needs the synopsis, which stands further below: the text is read whole, and then written.
{ lines[++count] = $0 }

END {
  split(parts, part_names, ",")
  printf ".\\\" Made by tools/man_page.awk of what %s --help prints.\n", name
  printf ".TH %s 1 \"%s\" \"tfprof %s\" \"User Commands\"\n", toupper(name), date, release
  section("NAME")
  print escaped(name) " \\- " plain(first_sentence(lines[1] " " lines[2]))
  synopsis(1)
  has_section = 0
  part = 0
  for (at = 1; at <= count; at++) take(lines[at])
  flush()
  section("SEE ALSO")
  print ".BR " escaped(see) " (1)"
}

function synopsis(first,    at, inside) {
  section("SYNOPSIS")
  print ".nf"
  for (at = first; at <= count && lines[at] !~ /\f/; at++) {
    if (lines[at] ~ /^usage: /) inside = 1
    else if (lines[at] == "") inside = 0
    if (inside) put("\\fB" escaped(substr(lines[at], 8)) "\\fR")
  }
  print ".fi"
}

function take(line,    at_indent, rest) {
  if (line ~ /\f/) {
    flush()
    section(toupper(part_names[++part]))
    sub(/\f/, "", line)
    if (line == "") return
  }
  if (in_usage && line != "") {
    if (part) put("\\fB" escaped(substr(line, 8)) "\\fR")
    return
  }
  if (in_usage && part) print ".fi"
  in_usage = 0
  if (line ~ /^usage: /) {
    flush()
    end_literal()
    in_usage = 1
    if (part) {
      print ".nf"
      put("\\fB" escaped(substr(line, 8)) "\\fR")
    } else {
      is_behind_usage = 1
    }
    return
  }
  if (line == "") {
    flush()
    if (is_literal) blank_lines = 1
    return
  }
  match(line, /^ */)
  at_indent = RLENGTH
  rest = substr(line, at_indent + 1)
  if (at_indent == 0) {
    end_item()
    paragraph = paragraph (paragraph == "" ? "" : " ") rest
  } else if (item != "" && at_indent > 6) {
    item_text = item_text (item_text == "" ? "" : " ") rest
  } else if ((is_behind_usage || part) && rest ~ /^(-|[A-Z][A-Z]+(  |$)|[0-9]+  )/) {
    flush()
    if (!part && !has_options) {
      section("OPTIONS")
      has_options = 1
    }
    item = rest
    # A name that fills the column of names has one blank behind it.
    if (match(rest, /  +/) || match(rest, /^--[a-z-]+ [A-Z]+ +/)) {
      if (rest ~ /^--[a-z-]+ [A-Z]+ [^ ]/) {
        match(rest, /^--[a-z-]+ [A-Z]+ /)
        RSTART += RLENGTH - 1
        RLENGTH = 1
      }
      item = substr(rest, 1, RSTART - 1)
      item_text = substr(rest, RSTART + RLENGTH)
    }
  } else {
    flush()
    begin_literal()
    if (blank_lines) print ""
    put(escaped(substr(line, 3)))
  }
  blank_lines = 0
}
