#!/bin/sh
# check.sh COMPILER INCLUDE_DIRECTORY FILE: the file compiles as it stands, and does not with -DBAD.
# The first half matters as much: a file with a slip would "fail to compile" for ever.
set -u
if ! "$1" -std=c++23 -fsyntax-only -Wall -I "$2" "$3"; then
  echo "$3: the good half does not compile" >&2
  exit 1
fi
if "$1" -std=c++23 -fsyntax-only -Werror=unused-result -DBAD -I "$2" "$3" 2>/dev/null; then
  echo "$3: the bad half compiles, and must not" >&2
  exit 1
fi
