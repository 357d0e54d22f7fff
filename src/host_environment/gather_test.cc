// What a record tells of the machine, the work tree and the interpreter, from hand-made files.

#include "host_environment/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "base/process.h"
#include "base/temporary_directory.h"
#include "host_environment/environment.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class Gather : public ::testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& path) const { return root_ + "/" + path; }
  void put(const std::string& path, const std::string& text, mode_t mode = 0644) const {
    ASSERT_TRUE(make_directories(std::filesystem::path(at(path)).parent_path()));
    ASSERT_TRUE(write_file_atomically(at(path), text, mode));
  }
  [[nodiscard]] GatherRoots roots() const { return {at("proc"), at("sys"), at("etc")}; }
  TemporaryDirectory directory_;
  std::string root_ = directory_.path();
};

const std::string commit = "0123456789abcdef0123456789abcdef01234567";

TEST_F(Gather, MachineIsDescribedByItsFirmwareAndKernel) {
  put("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
  put("sys/class/dmi/id/product_name", "p4d.24xlarge\n");
  put("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU\n\nprocessor\t: 1\n");
  put("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
  const MachineFacts facts = gather_machine(roots());
  EXPECT_EQ(facts.instance_type, Reading<std::string>("Amazon EC2 p4d.24xlarge"));
  EXPECT_EQ(facts.operating_system, Reading<std::string>("Debian GNU/Linux 12 (bookworm)"));
  EXPECT_EQ(facts.cpu_model, Reading<std::string>("Test CPU"));
  EXPECT_EQ(facts.cpu_count, Reading<std::uint64_t>(2));
  EXPECT_EQ(facts.memory_total, Reading<Bytes>(Bytes(16 << 20)));
}

TEST_F(Gather, MachineWithoutFilesIsUnknownNotZero) {
  const MachineFacts facts = gather_machine(roots());
  EXPECT_EQ(facts.instance_type.why(), Absent::unsupported);
  EXPECT_FALSE(facts.cpu_count.get());
  EXPECT_FALSE(facts.memory_total.get());
}

TEST_F(Gather, ContainerIsNamedByItsIdOnly) {
  const std::string id = "4f5e6d7c8b9a4f5e6d7c8b9a4f5e6d7c8b9a4f5e6d7c8b9a4f5e6d7c8b9a0123";
  put("proc/self/cgroup", "0::/system.slice/docker-" + id + ".scope\n");
  EXPECT_EQ(gather_machine(roots()).container, Reading<std::string>("docker 4f5e6d7c8b9a"));
  put("proc/self/cgroup", "0::/kubepods.slice/kubepods-besteffort.slice/cri-" + id + ".scope\n");
  EXPECT_EQ(gather_machine(roots()).container, Reading<std::string>("kubepods 4f5e6d7c8b9a"));
  put("proc/self/cgroup", "0::/kubepods/besteffort\n");
  EXPECT_EQ(gather_machine(roots()).container, Reading<std::string>("kubepods"));
}

TEST_F(Gather, WorkTreeIsFoundFromBelowWithBranchAndCommit) {
  put("tree/.git/HEAD", "ref: refs/heads/feature/x\n");
  put("tree/.git/refs/heads/feature/x", commit + "\n");
  ASSERT_TRUE(make_directories(at("tree/a/b")));
  const auto facts = gather_git(at("tree/a/b"));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->root, at("tree"));
  EXPECT_EQ(facts->branch, Reading<std::string>("feature/x"));
  EXPECT_EQ(facts->commit, Reading<std::string>(commit));
  EXPECT_EQ(facts->dirty.why(), Absent::not_sampled);
}

TEST_F(Gather, CommitOfAPackedBranchAndOfADetachedHead) {
  put("tree/.git/HEAD", "ref: refs/heads/main\n");
  put("tree/.git/packed-refs", "# pack-refs with: peeled\n" + std::string(40, 'f') +
                                   " refs/remotes/refs/heads/main\n" + commit +
                                   " refs/heads/main\n");
  EXPECT_EQ(gather_git(at("tree"))->commit, Reading<std::string>(commit));
  put("tree/.git/HEAD", std::string(40, 'a') + "\n");
  EXPECT_EQ(gather_git(at("tree"))->commit, Reading<std::string>(std::string(40, 'a')));
  EXPECT_EQ(gather_git(at("tree"))->branch, Reading<std::string>(""));
}

TEST_F(Gather, SecondWorkTreeSharesTheBranchesOfTheFirst) {
  put("main/.git/refs/heads/side", commit + "\n");
  put("main/.git/worktrees/side/HEAD", "ref: refs/heads/side\n");
  put("main/.git/worktrees/side/commondir", "../..\n");
  put("side/.git", "gitdir: " + at("main/.git/worktrees/side") + "\n");
  const auto facts = gather_git(at("side"));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->commit, Reading<std::string>(commit));
}

TEST_F(Gather, BranchWithoutACommitHasNone) {
  put("tree/.git/HEAD", "ref: refs/heads/main\n");
  EXPECT_FALSE(gather_git(at("tree"))->commit.get());
  EXPECT_FALSE(gather_git("/"));
}

TEST_F(Gather, ChangedTrackedFileMakesTheTreeDirtyAndAnUntrackedOneDoesNot) {
  const std::string path = "/usr/local/bin:/usr/bin:/bin";
  if (!find_executable("git", path)) GTEST_SKIP() << "git is not installed";
  const std::vector<std::string> environment = {"PATH=" + path, "HOME=" + root_,
                                                "GIT_CONFIG_NOSYSTEM=1"};
  SystemClock clock;
  const auto git = [&](std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"git", "-C", at("tree"), "-c", "user.name=t", "-c", "user.email=t"});
    return output_of(words, environment, path, clock, std::chrono::seconds(30)).has_value();
  };
  put("tree/a", "one\n");
  ASSERT_TRUE(git({"init", "-q"}) && git({"add", "a"}) && git({"commit", "-q", "-m", "first"}));
  put("tree/untracked", "x\n");
  EXPECT_EQ(is_git_dirty(at("tree"), environment, clock), Reading<bool>(false));
  put("tree/a", "another length\n");
  EXPECT_EQ(is_git_dirty(at("tree"), environment, clock), Reading<bool>(true));
  EXPECT_FALSE(is_git_dirty(at("none"), environment, clock).get());
}

TEST_F(Gather, VirtualEnvironmentIsReadWithoutRunningIt) {
  put("venv/bin/python3.11", "", 0755);
  put("venv/pyvenv.cfg",
      "home = /usr/bin\ninclude-system-site-packages = false\n"
      "version = 3.11.2\n");
  const std::string site = "venv/lib/python3.11/site-packages/";
  put(site + "torch-2.3.1+cu121.dist-info/METADATA", "");
  put(site + "nvidia_cublas_cu12-12.1.3.1.dist-info/METADATA", "");
  put(site + "requests-2.0.dist-info/METADATA", "");
  put(site + "torch/__init__.py", "");
  const auto facts = gather_python({at("venv/bin/python3.11"), "x.py"}, "");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->environment, at("venv"));
  EXPECT_EQ(facts->version, Reading<std::string>("3.11.2"));
  EXPECT_THAT(facts->packages,
              ElementsAre(Pair("nvidia_cublas_cu12", "12.1.3.1"), Pair("torch", "2.3.1+cu121")));
}

TEST_F(Gather, ScriptsInterpreterLineLeadsToItsEnvironment) {
  put("venv/bin/python3.11", "", 0755);
  put("venv/pyvenv.cfg", "version_info = 3.11.2.final.0\n");
  put("venv/bin/torchrun", "#!" + at("venv/bin/python3.11") + "\nimport sys\n", 0755);
  put("venv/bin/by_env", "#!/usr/bin/env python3.11\n", 0755);
  put("venv/bin/shell", "#!/bin/sh\n", 0755);
  for (const char* program : {"torchrun", "by_env"}) {
    const auto facts = gather_python({program}, at("venv/bin"));
    ASSERT_TRUE(facts) << program;
    EXPECT_EQ(facts->interpreter, at("venv/bin/python3.11"));
    EXPECT_EQ(facts->version, Reading<std::string>("3.11.2.final.0"));
    EXPECT_THAT(facts->packages, IsEmpty());
  }
  EXPECT_FALSE(gather_python({"shell"}, at("venv/bin")));
  EXPECT_FALSE(gather_python({"missing"}, at("venv/bin")));
}

TEST_F(Gather, AShimHasNeitherAVersionNorTheSystemsPackages) {
  put("shims/python3", "#!/usr/bin/env bash\nexec pyenv exec python3 \"$@\"\n", 0755);
  const auto facts = gather_python({at("shims/python3"), "x.py"}, "");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->version, Reading<std::string>(Absent::unsupported));
  EXPECT_THAT(facts->packages, IsEmpty()) << "Debian's are Debian's interpreter's";
}

TEST(NotableVariables, AreThoseThatChangeResultsOrSpeed) {
  using ::testing::SizeIs;
  const std::vector<std::string> kept = {
      "CUDA_VISIBLE_DEVICES=0", "TF_CPP_MIN_LOG_LEVEL=2",  "TF_FORCE_GPU_ALLOW_GROWTH=true",
      "TF_GPU_THREAD_MODE=x",   "TF_XLA_FLAGS=x",          "TF_ENABLE_ONEDNN_OPTS=0",
      "PYTHONHASHSEED=0",       "PYTHONPATH=/x",           "OMP_NUM_THREADS=4",
      "MLU_VISIBLE_DEVICES=0",  "TPU_VISIBLE_CHIPS=0",     "HCCL_DETERMINISTIC=true",
      "MIOPEN_FIND_MODE=1",     "ROCBLAS_LAYER=1",         "HIPBLASLT_LOG_LEVEL=1",
      "RCCL_MSCCL_ENABLE=0",    "AMD_SERIALIZE_KERNEL=3",  "GPU_MAX_HW_QUEUES=2",
      "ONEAPI_ROOT=/x",         "SYCL_CACHE_PERSISTENT=1", "CCL_ALLREDUCE=ring",
      "TASK_QUEUE_ENABLE=1",    "ASCEND_HOME_PATH=/x",     "NCCL_DEBUG=INFO"};
  EXPECT_THAT(notable_variables(kept), SizeIs(kept.size()));
  EXPECT_THAT(
      notable_variables({"TF_CLI_CONFIG_FILE=/x", "TF_VAR_token=x", "TF_LOG=debug",
                         "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "PYTHONPATHS=x",
                         "HOME=/x", "GPU_PASSES=x", "TASK_QUEUE_ENABLED=x", "no equals sign"}),
      IsEmpty());
}

}  // namespace
}  // namespace berth
