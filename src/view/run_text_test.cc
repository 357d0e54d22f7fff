#include "view/run_text.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using What = ScriptWarning::What;

TEST(RunText, WarningAboutAContainerSaysWhatToWrite) {
  EXPECT_THAT(
      sentences_of(ScriptWarning{
          .what = What::container_started, .by = "docker run --gpus all", .tool = "docker"}),
      ElementsAre(AllOf(StartsWith("docker run --gpus all: "),
                        HasSubstr("does not last as long as the container"),
                        HasSubstr("berth run -- docker run …"))));
  EXPECT_THAT(
      sentences_of(ScriptWarning{.what = What::container_started,
                                 .script = "go.sh",
                                 .by = "podman run --device=nvidia.com/gpu=0",
                                 .tool = "podman"}),
      ElementsAre(AllOf(StartsWith("go.sh: podman run "), HasSubstr("berth run -- podman run …"))));
}

TEST(RunText, WarningAboutAScriptNamesItsLine) {
  EXPECT_THAT(sentences_of(ScriptWarning{.what = What::character_refused,
                                         .script = "train.py",
                                         .line = {.number = 2, .text = "“ (U+201C)"}}),
              ElementsAre("train.py has “ (U+201C) in the code of line 2: Python ends with a "
                          "SyntaxError there; type it as plain ASCII"));
}

TEST(RunText, UnrecordedRunSaysHowToFindItAndThatLastIsAnother) {
  RunUnrecorded run{.id = "r1", .why = Sentence("cannot write x: No space left on device")};
  EXPECT_THAT(sentences_of(run),
              ElementsAre("this run is not recorded: cannot write x: No space left on device; the "
                          "job runs all the same"));
  run.detached = true;
  run.is_noted_as_last = false;
  EXPECT_THAT(sentences_of(run),
              ElementsAre(StartsWith("this run is not recorded: "), StartsWith("`berth stop r1`"),
                          HasSubstr("`last` goes on to mean an earlier one")));
}

TEST(RunText, InputThatIsGoneIsSaidWithTheNextStart) {
  StartingAgain start{.ended = "r1", .starts_left = 2};
  EXPECT_THAT(sentences_of(start), ElementsAre(HasSubstr("run r1 ended badly")));
  start.is_input_whole = false;
  EXPECT_THAT(sentences_of(start), ElementsAre(HasSubstr("(2 more after that)"),
                                               StartsWith("its input comes through a pipe")));
}

}  // namespace
}  // namespace berth
