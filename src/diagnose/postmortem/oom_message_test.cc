#include "diagnose/postmortem/oom_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/postmortem/log_corpus_test.h"
#include "diagnose/postmortem/oom_verdict.h"

namespace berth {
namespace {

Bytes mib(double count) { return Bytes(static_cast<std::uint64_t>(count * 0x1p20)); }
Bytes gib(double count) { return mib(count * 1024); }

OomMessage parsed(const std::string& text) {
  auto message = parse_oom_message(text);
  EXPECT_TRUE(message) << text;
  return message.value_or(OomMessage{});
}

/// A message of today's wording.
std::string said(double tried, double total, double free, double allocated, double unallocated,
                 const std::string& others = "") {
  const auto g = [](double number) { return std::to_string(number).substr(0, 5) + " GiB"; };
  return "CUDA out of memory. Tried to allocate " + g(tried) + ". GPU 0 has a total capacity of " +
         g(total) + " of which " + g(free) + " is free. " + others + "Of the allocated memory " +
         g(allocated) + " is allocated by PyTorch, and " + g(unallocated) +
         " is reserved by PyTorch but unallocated.";
}

TEST(OomMessage, ReadsTheWordingOfEveryAge) {
  const auto samples = samples_of("cuda_out_of_memory");
  ASSERT_EQ(samples.size(), 7U);
  const OomMessage oldest = parsed(samples[0].text);
  EXPECT_EQ(oldest.tried, mib(1));
  EXPECT_EQ(oldest.total, gib(11.17));
  EXPECT_EQ(oldest.free, Bytes(576 << 10));
  EXPECT_EQ(oldest.unallocated, mib(30.96));
  const OomMessage old = parsed(samples[1].text);
  EXPECT_EQ(old.allocated, mib(996.23));
  EXPECT_EQ(old.reserved(), mib(1010));
  EXPECT_EQ(old.device, 0U);
  EXPECT_EQ(parsed(samples[2].text).setting, "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128");
  EXPECT_EQ(parsed(samples[3].text).own, gib(3.44));
  EXPECT_EQ(parsed(samples[3].text).total, gib(4)) << "\"capacty\", as it was written then";
  const OomMessage newest = parsed(samples[4].text);
  ASSERT_EQ(newest.others.size(), 1U);
  EXPECT_EQ(newest.others[0].pid, 2493055U);
  EXPECT_EQ(newest.others[0].bytes, gib(12.02));
  EXPECT_EQ(newest.setting, "PYTORCH_ALLOC_CONF=expandable_segments:True");
  const OomMessage broken = parsed(samples[5].text);
  EXPECT_EQ(broken.free, mib(218.81));
  EXPECT_EQ(broken.private_pools, mib(118));
  EXPECT_EQ(broken.unallocated, mib(744.36));
  const OomMessage npu = parsed(samples[6].text);
  EXPECT_EQ(npu.device, 0U);
  EXPECT_EQ(npu.free, gib(1.02));
  EXPECT_EQ(npu.setting, "PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:128");
}

TEST(OomMessage, AnotherTextIsNone) {
  EXPECT_FALSE(parse_oom_message("CUDA error: out of memory"));
  EXPECT_FALSE(parse_oom_message("CUDA out of memory. Tried to allocate too much"));
  EXPECT_FALSE(parse_oom_message(""));
}

TEST(OomMessage, HugeNumbersStayNumbers) {
  EXPECT_EQ(
      parsed("CUDA out of memory. Tried to allocate 130206.04 GiB. GPU 0 has a total capacity "
             "of 23.56 GiB of which 16.57 GiB is free.")
          .tried,
      gib(130206.04));
  EXPECT_FALSE(parse_oom_message("CUDA out of memory. Tried to allocate 99999999999999 TiB."));
}

TEST(OomVerdict, TrueNeedFillsTheCardWithItsOwnTensors) {
  EXPECT_EQ(judge(parsed(said(1.0, 24, 0.2, 22.5, 0.3))).cause, OomCause::needed);
}

TEST(OomVerdict, FragmentationIsMoreInPiecesThanWasAskedFor) {
  EXPECT_EQ(judge(parsed(said(1.0, 24, 0.2, 16, 7))).cause, OomCause::fragmented);
  EXPECT_EQ(judge(parsed(said(8.0, 24, 0.2, 16, 7))).cause, OomCause::needed)
      << "all its pieces together would not do";
  EXPECT_EQ(judge(parsed(said(0.2, 24, 0.1, 22.5, 0.6))).cause, OomCause::needed)
      << "its pieces are a fortieth of the card";
}

TEST(OomVerdict, ANeighbourIsWhoeverLeftWouldHaveMadeRoom) {
  const auto samples = samples_of("cuda_out_of_memory");
  const OomVerdict named = judge(parsed(samples[4].text));
  EXPECT_EQ(named.cause, OomCause::neighbour);
  EXPECT_EQ(named.of_others, gib(12.02));
  EXPECT_FALSE(named.others_by_difference);
  const OomVerdict unnamed = judge(parsed(samples[1].text));
  EXPECT_EQ(unnamed.cause, OomCause::neighbour) << "1 GiB of 10.76 is its own, 9 MiB are free";
  EXPECT_TRUE(unnamed.others_by_difference);
}

TEST(OomVerdict, InAContainerAProcessIsNotItsOwnNeighbour) {
  const std::string itself = "Process 3652628 has 47.51 GiB memory in use. ";
  const OomVerdict verdict = judge(parsed(said(0.25, 47.53, 0.01, 47.14, 0.05, itself)));
  EXPECT_EQ(verdict.cause, OomCause::needed);
  EXPECT_EQ(verdict.of_others, Bytes(0));
}

TEST(OomVerdict, OneTensorLargerThanTheCardIsSaidAsThat) {
  EXPECT_EQ(judge(parsed(said(55.6, 12, 9, 1, 0.5))).cause, OomCause::too_large);
}

TEST(OomVerdict, ALimitOfTheProgramsOwnIsSeen) {
  const std::string text =
      "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 24.00 GiB of "
      "which 12.00 GiB is free. Including non-PyTorch memory, this process has 11.00 GiB memory in "
      "use. 12.00 GiB allowed; Of the allocated memory 10.50 GiB is allocated by PyTorch, and "
      "100.00 "
      "MiB is reserved by PyTorch but unallocated.";
  EXPECT_EQ(judge(parsed(text)).cause, OomCause::limit);
}

TEST(OomVerdict, WhereThereWasRoomByTheNumbersNothingIsClaimed) {
  const std::string text =
      "CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 4.59 GiB "
      "already allocated; 3.03 GiB free; 4.64 GiB reserved in total by PyTorch)";
  EXPECT_EQ(judge(parsed(text)).cause, OomCause::unknown);
  EXPECT_EQ(judge(parsed("CUDA out of memory. Tried to allocate 2.26 GiB")).cause,
            OomCause::unknown);
}

TEST(OomVerdict, ALargestBatchIsAnUpperBoundAndOnlyOfNeed) {
  const OomMessage need = parsed(said(4.0, 24, 0.5, 20, 1));
  EXPECT_EQ(largest_batch(need, 64), 57U);  // 64 * 21.5 / 24
  EXPECT_EQ(largest_batch(need, 1), std::nullopt);
  EXPECT_EQ(largest_batch(parsed(said(1.0, 24, 0.2, 16, 7)), 64), std::nullopt) << "fragmented";
}

TEST(BatchSize, IsReadWhereItIsUnmistakable) {
  EXPECT_EQ(batch_size_in("python train.py --batch-size 64 --lr 0.1"), 64U);
  EXPECT_EQ(batch_size_in("per_device_train_batch_size=8 eval"), 8U);
  EXPECT_EQ(batch_size_in("--batch-size 64 --eval-batch-size 128"), std::nullopt);
  EXPECT_EQ(batch_size_in("batch_size unknown"), std::nullopt);
}

TEST(OomMessage, WithoutASizeWhereOneStandsIsReadWithoutIt) {
  for (const char* torn :
       {"(GPU 0; 7.79 GiB total capacity; 3 GiB already allocated;  free; 4 GiB "
        "reserved)",
        "(GPU 0;  total capacity; 3 GiB already allocated; 1.00 MiB free; 4 GiB reserved)",
        "(GPU 0; 7.79 "}) {
    const auto message = parse_oom_message(
        std::string("RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB ") + torn);
    ASSERT_TRUE(message) << torn;
    EXPECT_EQ(message->free.has_value(), std::string_view(torn).contains("1.00 MiB")) << torn;
  }
}

}  // namespace
}  // namespace berth
