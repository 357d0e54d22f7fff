// The code that was run: command, work tree, working directory.

#include "base/text.h"
#include "base/tr.h"
#include "diagnose/manifest_diff/comparison.h"
#include "record/run_record.h"

namespace berth {

namespace {

constexpr DifferenceKind command{
    "command", Explains::results,
    as_key("Another command or other arguments ask for something else.")};
constexpr DifferenceKind commit{"git_commit", Explains::results,
                                as_key("Another commit is other code.")};
constexpr DifferenceKind dirty{
    "git_dirty", Explains::results,
    as_key("Changes that are not committed are in no commit: nobody can tell later what ran.")};
constexpr DifferenceKind directory{
    "working_directory", Explains::neither,
    as_key("The same commit lies in both: only files beside it can differ.")};
constexpr DifferenceKind other_directory{
    "working_directory", Explains::results,
    as_key("Relative paths in the command mean other files, and no commit says whether they are "
           "the same.")};

Told commit_of(const Manifest& manifest) {
  if (!manifest.git) return told(sentence("no git work tree"));
  return told(manifest.git->commit);
}

bool is_known_and_clean(const Manifest& manifest) {
  return manifest.git && manifest.git->commit.get() && manifest.git->dirty.get() &&
         !*manifest.git->dirty.get();
}

void compare_git(const Manifest& a, const Manifest& b, Comparison& into) {
  if (!a.git && !b.git) return;
  into.compare(commit, sentence("git commit"), commit_of(a), commit_of(b));
  if (!a.git || !b.git) return;
  const auto clean_or_not = [](bool is_dirty) {
    return is_dirty ? sentence("with changes not committed") : sentence("nothing changed");
  };
  const Sentence what = sentence("git work tree");
  const bool both_dirty = a.git->dirty.get().value_or(false) && b.git->dirty.get().value_or(false);
  if (both_dirty) {
    into.cannot_compare(dirty, what, NotComparable::Side::both,
                        sentence("both have changes that are not committed: whether the same ones "
                                 "is written nowhere"));
  } else {
    into.compare(dirty, what, told(a.git->dirty, clean_or_not), told(b.git->dirty, clean_or_not));
  }
}

}  // namespace

void compare_code(const Manifest& a, const Manifest& b, Comparison& into) {
  if (is_of_run(a) && is_of_run(b)) {
    into.compare(command, sentence("command"), told(shell_joined(a.command)),
                 told(shell_joined(b.command)));
  }
  compare_git(a, b, into);
  const bool same_code =
      is_known_and_clean(a) && is_known_and_clean(b) && a.git->commit.get() == b.git->commit.get();
  into.compare(same_code ? directory : other_directory, sentence("working directory"),
               told(a.working_directory), told(b.working_directory));
}

}  // namespace berth
