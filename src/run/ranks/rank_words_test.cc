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
  auto words = command_with_ranks(job, false, [&](const std::string& name) {
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
              ElementsAre("torchrun", "--standalone", "--nproc_per_node=4", "-m", "mine"));
  EXPECT_THAT(started({"train.py"}, by, {"python"}),
              ElementsAre("python", "-m", "torch.distributed.run", "--standalone",
                          "--nproc_per_node=4", "train.py"));
  EXPECT_THAT(
      started({"./run.sh"}, by, {"torchrun"}),
      ElementsAre("torchrun", "--standalone", "--nproc_per_node=4", "--no_python", "./run.sh"));
}

TEST(CommandWithRanks, TorchrunOfEachNodeIsToldItsPlace) {
  const JobSpec job{.command = {"train.py"}, .ranks_by = RanksBy::torchrun, .nodes = 2};
  const auto none = [](const std::string&) { return false; };
  const auto unwrapped = command_with_ranks(job, true, none);
  EXPECT_EQ(unwrapped, (std::vector<std::string>{"python3", "train.py"})) << "until it is started";
  const RankPlan plan{.ranks = 4, .nodes = 2, .node = 1, .by_torchrun = true};
  EXPECT_THAT(
      torchrun_on_node(plan, *unwrapped, "n1", 29501, none),
      ElementsAre("python3", "-m", "torch.distributed.run", "--nnodes=2", "--node_rank=1",
                  "--master_addr=n1", "--master_port=29501", "--nproc_per_node=4", "train.py"));
  EXPECT_THAT(rank_launcher_words("/b", plan, {"train"}), Contains("--by=torchrun"));
  EXPECT_THAT(words_on_node("/b", plan, 1, {"train"}, {}), Contains("--ddp=torchrun"));
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
  for (const char* wrong : {"0-1024", "/", "0-2@", "0-2@x", "0@1@2", "2-0", "0@9999"}) {
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

TEST(RankVariables, CountOverAllNodes) {
  const auto place = place_variables({.rank = 1, .ranks = 4, .nodes = 3, .node = 2});
  EXPECT_THAT(place, Contains(Variable("RANK", "9")));
  EXPECT_THAT(place, Contains(Variable("LOCAL_RANK", "1")));
  EXPECT_THAT(place, Contains(Variable("WORLD_SIZE", "12")));
  EXPECT_THAT(place, Contains(Variable("LOCAL_WORLD_SIZE", "4")));
  EXPECT_THAT(place, Contains(Variable("GROUP_RANK", "2")));
}

TEST(RankNodes, ComeBackAsTheyWereWritten) {
  const RankNode node{.node = 1, .nodes = 2, .record = "/home/me/a:b/runs/ID"};
  EXPECT_EQ(rank_node_in(rank_node_text(node)), node);
  EXPECT_EQ(rank_node_in("0/1:"), (RankNode{.node = 0, .nodes = 1, .record = ""}));
  for (const char* wrong : {"", "1", "1/2", "2/2:/r", "-1/2:/r", "1/9999:/r", "1/2:r", "x/2:/r"}) {
    EXPECT_EQ(rank_node_in(wrong), std::nullopt) << wrong;
  }
}

TEST(RankNodes, StartWithoutWhatIsTheFirstNodesOwn) {
  const RankPlan plan{.ranks = 4, .record = "/r", .nodes = 3};
  const std::vector<std::string> here = {"BERTH_RUN=R",
                                         "BERTH_LEASE=L",
                                         "CUDA_VISIBLE_DEVICES=0",
                                         "ROCR_VISIBLE_DEVICES=0",
                                         "ZE_AFFINITY_MASK=0",
                                         "SLURM_CPUS_PER_TASK=8",
                                         "HOME=/h"};
  EXPECT_THAT(environment_on_node(plan, 2, here, "n1", 29501),
              testing::UnorderedElementsAre("SLURM_CPUS_PER_TASK=8", "HOME=/h", "MASTER_ADDR=n1",
                                            "MASTER_PORT=29501", "BERTH_RANK_NODE=2/3:/r"));
  EXPECT_THAT(words_on_node("/b", plan, 2, {"train"}, here),
              testing::ElementsAre("srun", "--nodes=1", "--ntasks=1", "--relative=2",
                                   "--unbuffered", "--cpus-per-task=8", "/b", "run", "--ddp", "-n",
                                   "4", "--name=R node 2", "--no-bind", "--", "train"));
}

TEST(RankNodes, AreRefusedWhereTheyAreNotGiven) {
  JobSpec job{.ranks_by = RanksBy::berth, .nodes = 2};
  EXPECT_TRUE(check_nodes(job, 2));
  EXPECT_THAT(check_nodes(job, 1).error().message(), testing::HasSubstr("--on slurm"));
  job.nodes = 3;
  EXPECT_THAT(check_nodes(job, 2).error().message(), testing::HasSubstr("it has 2"));
  job.ranks_by = RanksBy::nobody;
  EXPECT_THAT(check_nodes(job, 3).error().message(), testing::HasSubstr("add --ddp"));
  EXPECT_EQ(nodes_given({"SLURM_JOB_NUM_NODES=4"}), 4);
  EXPECT_EQ(nodes_given({"SLURM_JOB_NUM_NODES=x"}), 1);
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
