"""What same_output.py asks two builds for is what they name themselves."""

import same_output

PROGRAM = """#!/bin/sh
case $1 in
scenarios) echo "new-server  One that was added."; echo "other  Another." ;;
--help) printf "berth: …\\n\\nSee:\\n  newest     a verb that was added\\n  top        goes on\\n\\nberth VERB --help tells more.\\n" ;;
esac
"""


def test_each_server_and_each_verb_that_the_program_names_is_asked_for(tmp_path):
    program = tmp_path / "berth"
    program.write_text(PROGRAM, encoding="utf-8")
    program.chmod(0o755)
    asked = list(same_output.cases(program))
    for server in ("new-server", "other"):
        assert (server, ["newest"]) in asked and (server, ["newest", "--json"]) in asked
        assert (server, ["top"]) not in asked, "it does not end"
    assert (same_output.FIRST, ["top", "--help"]) in asked
