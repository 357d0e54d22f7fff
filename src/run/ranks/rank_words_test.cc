#include "run/ranks/rank_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/ranks/rank_output.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

std::vector<std::string> started(std::vector<std::string> command, RanksBy by,
                                 const std::vector<std::string>& programs) {
  const JobSpec job{.command = std::move(command), .request = {.devices = 4}, .ranks_by = by};
  auto words = command_with_ranks(job, [&](const std::string& name) {
    return std::ranges::find(programs, name) != programs.end();
  });
  return words ? *std::move(words) : std::vector<std::string>{words.error().message()};
}

TEST(CommandWithRanks, AScriptIsPythons) {
  const auto by = RanksBy::berth;
  EXPECT_THAT(started({"train.py", "--lr", "1"}, by, {"python"}),
              ElementsAre("python", "train.py", "--lr", "1"));
  EXPECT_THAT(started({"train.py"}, by, {}), ElementsAre("python3", "train.py"));
  EXPECT_THAT(started({"./train.py"}, by, {"./train.py"}), ElementsAre("./train.py"));
  EXPECT_THAT(started({"train.py"}, RanksBy::nobody, {}), ElementsAre("train.py"));
}

TEST(CommandWithRanks, TorchrunIsGivenWhatItTakes) {
  const auto by = RanksBy::torchrun;
  EXPECT_THAT(started({"python", "-u", "-m", "mine"}, by, {"torchrun"}),
              ElementsAre("torchrun", "--standalone", "--nproc-per-node=4", "-m", "mine"));
  EXPECT_THAT(started({"train.py"}, by, {"python"}),
              ElementsAre("python", "-m", "torch.distributed.run", "--standalone",
                          "--nproc-per-node=4", "train.py"));
  EXPECT_THAT(
      started({"./run.sh"}, by, {"torchrun"}),
      ElementsAre("torchrun", "--standalone", "--nproc-per-node=4", "--no-python", "./run.sh"));
}

TEST(CommandWithRanks, AContainerIsRefused) {
  EXPECT_THAT(started({"docker", "run", "image"}, RanksBy::berth, {}).front(),
              ::testing::HasSubstr("--ddp"));
}

TEST(RankBindings, ComeBackAsTheyWereWritten) {
  const std::vector<Binding> bindings = {{.cpus = {0, 1, 2, 8}, .node = 1}, {.cpus = {3}}};
  EXPECT_EQ(bindings_text(bindings), "0-2,8@1/3");
  EXPECT_EQ(bindings_in("0-2,8@1/3"), bindings);
  EXPECT_EQ(bindings_in(""), std::vector<Binding>());
  for (const char* wrong : {"/", "0-2@", "0-2@x", "0@1@2", "2-0", "0@9999"}) {
    EXPECT_EQ(bindings_in(wrong), std::nullopt) << wrong;
  }
}

TEST(RankVariables, LeaveWhatTheCallerChose) {
  const auto all = common_variables({"OMP_NUM_THREADS=7"}, 2, "/r");
  EXPECT_THAT(all, Not(Contains(Variable("OMP_NUM_THREADS", "2"))));
  EXPECT_THAT(all, Contains(Variable("PYTHONFAULTHANDLER", "1")));
  EXPECT_THAT(all, Contains(Variable("TORCH_FR_DUMP_TEMP_FILE", "/r/fr_")));
  for (const Variable& one : all) EXPECT_FALSE(one.first.starts_with("NCCL_")) << one.first;
  EXPECT_THAT(common_variables({}, 2, ""), Contains(Variable("OMP_NUM_THREADS", "2")));
}

TEST(RankVariables, TellEachItsPlace) {
  const auto place = place_variables(
      {.rank = 1, .ranks = 4, .master_address = "127.0.0.1", .master_port = 29501, .run = "R"});
  EXPECT_THAT(place, Contains(Variable("RANK", "1")));
  EXPECT_THAT(place, Contains(Variable("WORLD_SIZE", "4")));
  EXPECT_THAT(place, Contains(Variable("LOCAL_RANK", "1")));
  EXPECT_THAT(place, Contains(Variable("MASTER_PORT", "29501")));
}

TEST(RankLines, HaveTheirRankInFront) {
  RankLines lines(3);
  EXPECT_EQ(lines.take("one\ntw"), "[3] one\n");
  EXPECT_EQ(lines.take("o\n\n"), "[3] two\n[3] \n");
  EXPECT_EQ(lines.take("10%\r20%\r"), "[3] 10%\r[3] 20%\r");
  EXPECT_EQ(lines.take("end\r\nnext\n"), "[3] end\r\n[3] next\n");
  EXPECT_EQ(lines.take("last"), "");
  EXPECT_EQ(lines.rest(), "[3] last\n");
  EXPECT_EQ(lines.rest(), "");
}

TEST(RankLines, AnEndlessLineComesInParts) {
  RankLines lines(0);
  const std::string part = lines.take(std::string(70'000, 'x'));
  EXPECT_EQ(part.size(), 4 + (64U << 10) + 1);
  EXPECT_EQ(lines.rest().size(), 4 + 70'000 - (64U << 10) + 1);
}

}  // namespace
}  // namespace berth
