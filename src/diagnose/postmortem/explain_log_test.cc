#include "diagnose/postmortem/explain_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/encoding.h"
#include "diagnose/postmortem/catalogue.h"
#include "diagnose/postmortem/log_corpus_test.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> rules_in(const std::string& text) {
  std::vector<std::string> rules;
  for (const Finding& finding : explain_log(LogText(text))) rules.push_back(finding.rule);
  return rules;
}

std::string all_words(const Finding& finding) {
  std::string text = finding.title.english() + "\n";
  for (const Sentence& seen : finding.evidence) text += seen.english() + "\n";
  text += finding.meaning.english() + "\n";
  for (const auto& step : finding.steps) text += step.what.english() + " " + step.command + "\n";
  return text + finding.doubt.english();
}

TEST(LogCatalogue, EachEntryFindsItsRealTextsFirst) {
  ASSERT_THAT(log_catalogue(), Not(IsEmpty()));
  for (const LogFamily& family : log_catalogue()) {
    for (const LogEntry& entry : family.entries) {
      const auto samples = samples_of(std::string(entry.code));
      EXPECT_THAT(samples, Not(IsEmpty())) << entry.code << " has no sample in tests/data/logs";
      for (const LogSample& sample : samples) {
        EXPECT_TRUE(sample.from.starts_with("# from: ")) << entry.code << ": " << sample.from;
        const auto rules = rules_in(sample.text);
        EXPECT_THAT(rules, Not(IsEmpty())) << entry.code << " does not find: " << sample.text;
        if (rules.empty()) continue;
        EXPECT_EQ(rules.front(), entry.code) << sample.text;
      }
    }
  }
}

TEST(LogCatalogue, EveryFileOfTheCorpusBelongsToAnEntry) {
  for (const auto& file : std::filesystem::directory_iterator(log_corpus())) {
    if (!file.is_regular_file()) continue;
    EXPECT_NE(log_entry(file.path().stem().string()), nullptr) << file.path();
  }
}

TEST(LogCatalogue, EntriesHaveNamesOfTheirOwnAndSayWhatToTry) {
  std::set<std::string_view> codes;
  for (const LogFamily& family : log_catalogue()) {
    for (const LogEntry& entry : family.entries) {
      EXPECT_TRUE(codes.insert(entry.code).second) << entry.code << " stands there twice";
      EXPECT_FALSE(entry.title.empty() || entry.meaning.empty()) << entry.code;
      EXPECT_TRUE(entry.code == "interrupted" || !entry.steps[0].what.empty()) << entry.code;
    }
  }
}

TEST(ExplainLog, EachTextOfTooLittleGpuMemoryStartsTheJobAgain) {
  const std::set<std::string_view> short_of_it = {
      "cuda_out_of_memory", "cuda_out_of_memory_plain", "tensorflow_out_of_memory",
      "xla_out_of_memory",  "cublas_no_memory",         "cudnn_no_memory"};
  for (const char* code : {"host_out_of_memory", "kernel_out_of_memory", "killed_line"}) {
    EXPECT_FALSE(gpu_memory_shortage(LogText(samples_of(code).front().text))) << code;
    EXPECT_FALSE(is_gpu_memory_shortage(code));
  }
  for (const std::string_view code : short_of_it) {
    EXPECT_TRUE(gpu_memory_shortage(LogText(samples_of(std::string(code)).front().text))) << code;
    EXPECT_TRUE(is_gpu_memory_shortage(code)) << code;
  }
  EXPECT_FALSE(is_gpu_memory_shortage("no_such_rule"));
}

TEST(ExplainLog, HealthyLogsAndThoseThatMerelyTalkOfErrorsHaveNoFindings) {
  std::size_t logs = 0;
  for (const auto& file : std::filesystem::directory_iterator(log_corpus() / "healthy")) {
    ++logs;
    EXPECT_THAT(rules_in(corpus_file(file.path())), IsEmpty()) << file.path();
  }
  EXPECT_GE(logs, 7U);
}

TEST(ExplainLog, ARetryThatFailedInTheEndIsFound) {
  const std::string oom =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.95 GiB. GPU 0 has a total "
      "capacity of 14.57 GiB of which 1.58 GiB is free. Of the allocated memory 12.07 GiB is "
      "allocated by PyTorch, and 33.93 MiB is reserved by PyTorch but unallocated.\n";
  EXPECT_THAT(rules_in("step 1 loss 2\n" + oom + "retrying with batch size 8\n" + oom),
              ElementsAre("cuda_out_of_memory"));
}

TEST(ExplainLog, WhatFollowsFromACauseIsLeftOutWhereTheCauseStandsThere) {
  const std::string log =
      "[rank1]: RuntimeError: CUDA error: an illegal memory access was encountered\n"
      "[rank0]:[E626 06:24:44.90 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600020 "
      "milliseconds before timing out.\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n";
  EXPECT_THAT(rules_in(log), ElementsAre("illegal_address"));
}

TEST(ExplainLog, ColoursProgressBarsAndRubbishHideNothing) {
  std::string log =
      "\x1b[32mEpoch 1\x1b[0m\r\n 10%|#   | 1/10\r 20%|##  | 2/10\r\x1b[31mValueError: ";
  log += std::string("\0\x01\xff", 3) + "Expected a cuda device, but got: cpu\x1b[0m\r\n";
  const Findings findings = explain_log(LogText(log));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "expected_cuda_device");
  EXPECT_THAT(findings[0].evidence[0].english(), HasSubstr("line 2 of the log"));
  EXPECT_THAT(findings[0].evidence[0].english(), HasSubstr("got: cpu"));
}

TEST(ExplainLog, OfALogWhoseBeginningIsMissingNoLineIsNumbered) {
  const LogText log("ValueError: Expected a cuda device, but got: cpu\n", true);
  EXPECT_THAT(explain_log(log)[0].evidence[0].english(), HasSubstr("in the log: ValueError"));
}

TEST(ExplainLog, RepeatedAMillionTimesItIsStillOneFindingSoon) {
  std::string log;
  while (log.size() < 3'000'000)
    log += "Assertion block: [0,0,0], thread: [1,0,0] Assertion `i` failed.\n";
  const Findings findings = explain_log(LogText(log));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "device_assert");
}

TEST(ExplainLog, TheRankThatStoppedFirstIsNamedByItsOwnErrorElseByItsPlace) {
  const auto waits = [](int rank, int operation) {
    return "[E ProcessGroupNCCL.cpp:737] [Rank " + std::to_string(rank) +
           "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" +
           std::to_string(operation) +
           ", OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1802212 milliseconds before timing "
           "out.\n";
  };
  const auto said = [](const std::string& log) {
    return all_words(explain_log(LogText(log)).at(0));
  };
  EXPECT_THAT(said(waits(0, 96) + waits(7, 64) + waits(1, 96)), HasSubstr("rank 7 stopped first"));
  EXPECT_THAT(said("[rank3]: KeyError: 'x'\n" + waits(0, 96) + waits(1, 96)),
              HasSubstr("rank 3 had an error of its own first"));
  EXPECT_THAT(said(waits(0, 96) + waits(1, 96)), HasSubstr("cannot be told"));
  EXPECT_THAT(said(waits(0, 96) + "Root Cause (first observed failure):\n[0]:\n  rank      : 2 "
                                  "(local_rank: 2)\n  exitcode  : 1 (pid: 14750)\n"),
              HasSubstr("rank 2 was the first that torchrun saw fail"));
}

TEST(ExplainLog, WhereARankIsMissedTheErrorThatItRaisedComesFirst) {
  for (const LogSample& sample : samples_of("rank_raised")) {
    const Findings findings = explain_log(LogText(sample.text));
    ASSERT_EQ(findings.size(), 1U) << sample.from;
    EXPECT_THAT(all_words(findings[0]), HasSubstr("ValueError: step 1: the batch has no labels"));
  }
  const std::string own =
      "Traceback (most recent call last):\n  File \"t.py\", line 1\nKeyError: 'x'\n";
  const std::string missed =
      "RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [::1]:1\n";
  EXPECT_THAT(rules_in(own + missed), ElementsAre("rank_raised"));
  for (const char* other :
       {"RuntimeError: NCCL communicator was aborted on rank 1.\n",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"}) {
    EXPECT_THAT(rules_in(own + other), ElementsAre("rank_raised")) << other;
  }
  EXPECT_THAT(rules_in(missed + own), ElementsAre("peer_gone")) << "it came later";
  EXPECT_THAT(rules_in(own), IsEmpty()) << "nothing says that there were ranks";
  EXPECT_THAT(rules_in("KeyError: 'x'\n" + missed), ElementsAre("peer_gone")) << "no traceback";
}

TEST(ExplainLog, ARanksErrorIsReadWhereOthersPrintIntoItsTraceback) {
  const std::string missed =
      "RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [::1]:1\n";
  const std::string begins = "ranksTraceback (most recent call last):\n  File \"t.py\", line 1\n";
  const std::string source = "    raise KeyError('x')\n";
  for (const std::string& interleaved :
       {source + "ranks 4KeyError: 'x'\n", "ranks" + source + "KeyError: 'x'\n",
        source + "ranks 4\n 4\nKeyError: 'x'\n"}) {
    EXPECT_THAT(rules_in(begins + interleaved + missed), ElementsAre("rank_raised")) << interleaved;
  }
  EXPECT_THAT(rules_in(begins + source + "a\nb\nc\nd\nKeyError: 'x'\n" + missed),
              ElementsAre("peer_gone"))
      << "too far from it";
  for (const char* logged : {"step    loss\n[12:00] ERROR wandb: upload failed, going offline\n",
                             "step    loss\neval 12Error: 0.33\n"}) {
    EXPECT_THAT(rules_in(logged + missed), ElementsAre("peer_gone")) << logged;
  }
}

TEST(ExplainLog, AStoreThatClosesBehindARunThatEndedInOrderIsNoLostRank) {
  const std::string in_order =
      "[rank0]:[W1210 05:03:00 ProcessGroupNCCL.cpp:1505] Warning: WARNING: "
      "destroy_process_group() was not called before program exit, which can leak resources.\n";
  const std::string closed =
      "[rank3]:[W1210 05:03:01 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=98): "
      "failed to recv, got 0 bytes\n";
  EXPECT_THAT(rules_in(in_order + closed), IsEmpty());
  EXPECT_THAT(rules_in(closed), ElementsAre("peer_gone")) << "nobody ended in order";
  EXPECT_THAT(rules_in(closed + in_order), ElementsAre("peer_gone")) << "it was lost before";
  EXPECT_THAT(rules_in(in_order + "Connection closed by peer\n"), ElementsAre("peer_gone"));
  EXPECT_THAT(rules_in("Traceback (most recent call last):\n  File \"t.py\", line 1\n"
                       "KeyError: 'x'\n" +
                       in_order + closed),
              ElementsAre("rank_raised"))
      << "an error ended it, which prints the same";
}

TEST(ExplainLog, ThePromiseOfTheRunAndItsBatchGoIntoTheAnswer) {
  const std::string oom =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total "
      "capacity of 20.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process "
      "has 19.00 GiB memory in use. Of the allocated memory 16.00 GiB is allocated by PyTorch, and "
      "2.00 GiB is reserved by PyTorch but unallocated.\n";
  const auto findings = explain_log(LogText(oom), {.promised = Bytes(10ULL << 30), .batch = 100});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(all_words(findings[0]),
              HasSubstr("a batch of 100 cannot fit, one of at most 95 may"));
  EXPECT_THAT(all_words(findings[0]), HasSubstr("promised 10.0 GiB and wanted at least 23.0 GiB"));
  EXPECT_THAT(all_words(explain_log(LogText(oom)).at(0)), HasSubstr("is not told here"));
  const auto refused = explain_log(LogText(oom), {.promised = Bytes(10ULL << 30), .refusals = 2});
  EXPECT_THAT(all_words(refused.at(0)), HasSubstr("own share of the GPU's memory was used up"));
  EXPECT_THAT(all_words(refused.at(0)), HasSubstr("refused allocations: 2"));
}

TEST(ExplainLog, FragmentationIsAdvisedWithTheSettingThatTheMessageNames) {
  const std::string start =
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 "
      "GiB total capacity; 12.00 GiB already allocated; 1.00 GiB free; 22.00 GiB reserved in total "
      "by PyTorch)";
  const auto words_of = [](const std::string& text) {
    const auto found = explain_log(LogText(text));
    return found.empty() ? std::string() : all_words(found.front());
  };
  const std::string named = words_of(start +
                                     " If reserved memory is >> allocated memory try setting "
                                     "max_split_size_mb to avoid fragmentation.  See documentation "
                                     "for Memory Management and PYTORCH_CUDA_ALLOC_CONF\n");
  EXPECT_THAT(named, HasSubstr("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb"));
  EXPECT_THAT(named, Not(HasSubstr("expandable_segments")));
  // PyTorch before 1.10 has neither setting and names none.
  EXPECT_THAT(words_of(start + "\n"), Not(HasSubstr("ALLOC_CONF")));
}

TEST(ExplainLog, CudnnsHandleIsNoMatterOfTheBatch) {
  // Its handle takes megabytes: who is on the card, and whether the libraries fit, come first.
  for (const std::string text : {"RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED\n",
                                 "Could not create cudnn handle: CUDNN_STATUS_ALLOC_FAILED\n"}) {
    const auto found = explain_log(LogText(text));
    ASSERT_FALSE(found.empty()) << text;
    EXPECT_EQ(found.front().rule, "cudnn_no_memory");
    for (const auto& step : found.front().steps) {
      EXPECT_THAT(step.what.english(), Not(HasSubstr("batch")));
    }
  }
}

TEST(ExplainLog, ABusErrorThatStandsAloneIsDoubted) {
  const auto doubt_of = [](const std::string& text) {
    const auto found = explain_log(LogText(text));
    EXPECT_EQ(found.size(), 1U) << text;
    EXPECT_EQ(found.front().rule, "shared_memory_full") << text;
    return found.front().doubt.english();
  };
  EXPECT_THAT(doubt_of("Bus error (core dumped)\n"), HasSubstr("a disk that fails"));
  EXPECT_THAT(doubt_of("[INFO] [launch.py:1:x] exits with return code = -7\n"),
              HasSubstr("a disk that fails"));
  EXPECT_EQ(
      doubt_of("RuntimeError: DataLoader worker (pid 5) is killed by signal: Bus error. It is "
               "possible that dataloader's workers are out of shared memory.\n"),
      "");
}

TEST(ExplainLog, WhatRayGuessesIsNoKillOfTheKernels) {
  const std::string guess =
      "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
      "Worker exit detail: Worker unexpectedly exits with a connection error code 2. Some common "
      "causes include: (1) the process was killed by the OOM killer due to high memory usage\n";
  EXPECT_THAT(rules_in(guess), ElementsAre("ray_worker_died"));
  EXPECT_THAT(rules_in(guess + "(raylet) node_manager.cc:3069: 1 Workers (tasks / actors) killed "
                               "due to memory pressure (OOM)\n"),
              ElementsAre("kernel_out_of_memory"));
}

TEST(ExplainLog, ALogOfPowerShellIsExplained) {
  std::string bytes = "\xff\xfe";  // UTF-16, the low byte first
  for (const char c : std::string_view("step 1\r\nRuntimeError: CUDA error: out of memory\r\n")) {
    bytes += {c, '\0'};
  }
  const LogText log(as_utf8(bytes, bytes.substr(0, 3), 0));
  const Findings findings = explain_log(log);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].evidence[0].english(),
            "line 2 of the log: RuntimeError: CUDA error: out of memory");
}

TEST(ExplainLog, WhatStandsInFrontOfAMessageHidesNothing) {
  for (const std::string_view front :
       {"", "[rank3]: ", "2021-12-08T01:25:15.387865564Z ", "2026-04-19 12:21:55.611 | ",
        "(EngineCore_DP0 pid=376256) ERROR 02-23 16:58:20 [core.py:946] ", "app-1  | ",
        "Feb 22 06:35:27 host1 env[2827]: (EngineCore pid=2827) ERROR 02-22 06:35:27 [a.py:9] ",
        "[1,2]<stderr>:", "    ", "E   ", "[2023-11-28 10:00:34,590] [ERROR] [a.py:1:f] "}) {
    EXPECT_THAT(rules_in(std::string(front) + "MemoryError\n"), ElementsAre("host_out_of_memory"))
        << front;
  }
}

TEST(ExplainLog, AMessageOfSeveralLinesCountsAsAWhole) {
  EXPECT_THAT(rules_in("torch.cuda.OutOfMemoryError: CUDA out of memory.\n"
                       "Tried to allocate 108.00 MiB (GPU 0; 10.91 GiB total capacity)\n"),
              ElementsAre("cuda_out_of_memory_plain"));
  EXPECT_THAT(rules_in("x.ResourceError: 2 root error(s) found.\n  (0) Disk: no space left\n"),
              ElementsAre("disk_full"));
  EXPECT_THAT(rules_in("INFO 05-25 15:29:28 [a.py:1] no space left is what we look for\n"),
              IsEmpty());
  EXPECT_THAT(rules_in("x.SomeError: a\nINFO 05-25 [a.py:1] no space left: asked\n"), IsEmpty());
}

TEST(ExplainLog, EveryXidIsFoundInEveryDressOfTheKernelsLog) {
  const std::map<std::uint64_t, std::string> finer = {
      {8, "launch_timeout"}, {31, "illegal_address"}, {48, "ecc_error"},
      {79, "device_lost"},   {94, "ecc_error"},       {95, "ecc_error"},
      {140, "ecc_error"},    {171, "ecc_error"},      {172, "ecc_error"}};
  for (const std::string_view front :
       {"", "[12345.678901] ", "[Fri Aug 30 11:43:09 2024] ",
        "Dec  6 17:49:03 host1 kernel: ", "Dec  6 17:49:03 host1 kernel: [ 8659.726062] ",
        "2026-11-24T10:00:00+01:00 host1 kernel: ", "\xe6\x9c\x88 28 02:52:53 host1 kernel: "}) {
    for (std::uint64_t code = 1; code <= 172; ++code) {
      const std::string number = std::to_string(code);
      const auto known = finer.find(code);
      const std::string wanted = known == finer.end() ? "xid_" + number : known->second;
      EXPECT_THAT(rules_in(std::string(front) + "NVRM: Xid (PCI:0000:3b:00): " + number +
                           ", pid=1234, name=python, Ch 0000000a\n"),
                  ElementsAre(wanted))
          << front << code;
    }
  }
  EXPECT_THAT(rules_in("NVRM: Xid (0000:03:00): 13, 0003 00000000\n"), ElementsAre("xid_13"));
}

TEST(ExplainLog, AnXidThatOnlyFollowsIsLeftOut) {
  EXPECT_THAT(rules_in("NVRM: Xid (PCI:0000:2a:00): 45, pid=12, name=python, Ch 00000002\n"
                       "NVRM: Xid (PCI:0000:2a:00): 119, pid=12, name=python, Timeout\n"),
              ElementsAre("xid_119"));
}

TEST(ExplainLog, AnXidIsFoundAlsoAsKubernetesTellsIt) {
  EXPECT_THAT(rules_in("I0723 10:01:02.1 1 nvidia.go:249] XidCriticalError: Xid=79 on "
                       "Device=GPU-5e1a, the device will go unhealthy.\n"),
              ElementsAre("xid_79"));
}

TEST(ExplainLog, AnXidThatNamesTheOneBeforeItIsToldByThat) {
  EXPECT_THAT(rules_in("kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=18, name=python3, Ch 00000001 "
                       "caused by previous Xid 149\n"),
              ElementsAre("xid_149"));
  EXPECT_THAT(rules_in("kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=18, name=python3, Ch 00000001 "
                       "caused by previous Xid ?\n"),
              ElementsAre("xid_45"));
}

TEST(ExplainLog, TextsOfOtherStacksGetNoToolsOfNvidias) {
  for (const char* line :
       {"Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x2.\n",
        "HW Exception by GPU node-2 (Agent handle: 0x1) reason :GPU Hang\n",
        "RuntimeError: No HIP GPUs are available\n",
        "RuntimeError: HIP error: unspecified launch failure\n",
        "RuntimeError: HIP error: misaligned address\n",
        "RuntimeError: No XPU devices are available.\n",
        "RuntimeError: level_zero backend failed with error: 20 "
        "(UR_RESULT_ERROR_DEVICE_LOST)\n",
        "RuntimeError: level_zero backend failed with error: 39 "
        "(UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)\n"}) {
    const Findings findings = explain_log(LogText(line));
    ASSERT_EQ(findings.size(), 1U) << line;
    for (const char* nvidias : {"CUDA", "NVIDIA", "compute-sanitizer"}) {
      EXPECT_THAT(all_words(findings[0]), Not(HasSubstr(nvidias))) << line;
    }
  }
}

TEST(LogCatalogue, PatternsFitAsTheySay) {
  EXPECT_TRUE(fits("a {b|cd} e", "x a cd e y"));
  EXPECT_FALSE(fits("a {b|cd} e", "a bcd e"));
  EXPECT_TRUE(fits("{cuda|gpu}*memory", "the gpu has no memory"));
  EXPECT_FALSE(fits("memory*{cuda|gpu}", "the gpu has no memory"));
  EXPECT_TRUE(fits("^killed$", "killed"));
  EXPECT_FALSE(fits("^killed$", "killed it"));
  EXPECT_FALSE(fits("^killed", "was killed"));
}

}  // namespace
}  // namespace berth
