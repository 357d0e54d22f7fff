#include "base/line_archive.h"

#include <gmock/gmock.h>

namespace berth {
namespace {

struct Process {
  pid_t pid = 0;
  std::uint64_t start = 0;
  friend bool operator==(const Process&, const Process&) = default;
};

struct Note {
  std::string text;
  std::optional<std::int64_t> number;
  std::vector<std::string> words;
  bool is_on = false;
  std::optional<Process> process;
  friend bool operator==(const Note&, const Note&) = default;
};

void walk(Archive& archive, Process& id) {
  archive.member("pid", id.pid);
  archive.member("start", id.start);
}
void walk_note(Archive& archive, Note& note) {
  archive.member("text", note.text);
  archive.member("number", note.number);
  archive.member("word", note.words, 3);
  archive.member("on", note.is_on, Form::sparse);
  archive.member("process", note.process);
}

std::string lines_of(Note note) {
  return write_lines([&](Archive& archive) { walk_note(archive, note); });
}
Note note_in(std::string_view text) {
  Note note;
  read_lines(text, [&](Archive& archive) { walk_note(archive, note); });
  return note;
}

TEST(LineArchive, WritesALineForEachValueThatIsThere) {
  const Note note{.text = "100%\n=",
                  .number = 5,
                  .words = {"a b", "", "c"},
                  .is_on = true,
                  .process = Process{.pid = 7, .start = 9}};
  EXPECT_EQ(lines_of(note),
            "text=100%25%0a=\nnumber=5\nword=a b\nword=\nword=c\non=1\nprocess=7 9\n");
  EXPECT_EQ(note_in(lines_of(note)), note);
  EXPECT_EQ(lines_of({}), "");
  EXPECT_EQ(note_in(""), Note());
}

TEST(LineArchive, TakesTheLastLineAndNoneThatWasCut) {
  EXPECT_EQ(note_in("text=a\ntext=b\nnumber=1\nnumber=2").text, "b");
  EXPECT_EQ(note_in("text=a\ntext=b\nnumber=1\nnumber=2").number, 1);
  EXPECT_EQ(note_in("=x\nno line\ntext\nunknown=1\ntext=%4\n").text, "%4");
}

TEST(LineArchive, OfAWrongValueLosesThatAlone) {
  const Note note = note_in("number=x\non=0\nprocess=7 9\n");
  EXPECT_EQ(note, (Note{.process = Process{.pid = 7, .start = 9}}));
}

TEST(LineArchive, HasNoValueOfTheWrongType) {
  for (const std::string wrong : {"", "x", "-1", "1.5", "9223372036854775808", "1 2"}) {
    EXPECT_EQ(note_in("number=" + wrong + "\n").number, std::nullopt) << wrong;
  }
  for (const std::string wrong :
       {"", "7", "x 9", "7 x", "7 9 1", "7 9 ", " 7 9", "99999999999 9"}) {
    EXPECT_EQ(note_in("process=" + wrong + "\n").process, std::nullopt) << wrong;
  }
  EXPECT_EQ(note_in("word=1\nword=2\nword=3\nword=4\n").words.size(), 3U);
}

}  // namespace
}  // namespace berth
