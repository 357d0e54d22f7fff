#include "diagnose/bottleneck/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/bottleneck/answer_test.h"

namespace berth::bottleneck {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::array every_advice = {Advice::more_workers,    Advice::lighter_loading,
                                     Advice::faster_storage,  Advice::overlap,
                                     Advice::pinned_copies,   Advice::bigger_work,
                                     Advice::less_traffic,    Advice::shorter_pauses,
                                     Advice::onto_the_device, Advice::balance_ranks};
constexpr std::array every_framework = {Framework::torch, Framework::tensorflow, Framework::jax,
                                        Framework::unknown};

std::string words_of(Advice what, Framework framework, int workers = 0) {
  std::string text;
  for (const Finding::Step& step : advice(what, framework, workers)) {
    text += step.what.english() + " | " + step.command + "\n";
  }
  return text;
}

struct Expected {
  Advice what;
  Framework framework;
  std::vector<std::string_view> words;
};

/// What an expert of the framework would look for in the answer.
const std::vector<Expected>& wishes() {
  static const std::vector<Expected> table = {
      {Advice::more_workers, Framework::torch, {"num_workers", "persistent_workers=True"}},
      {Advice::more_workers, Framework::tensorflow, {"num_parallel_calls", "prefetch"}},
      {Advice::more_workers, Framework::jax, {"worker_count", "grain"}},
      {Advice::more_workers, Framework::unknown, {"more processes"}},
      {Advice::lighter_loading, Framework::torch, {"beforehand", "transforms to the GPU"}},
      {Advice::lighter_loading, Framework::tensorflow, {"beforehand", "dataset.cache()"}},
      {Advice::lighter_loading, Framework::jax, {"beforehand", "jax.jit"}},
      {Advice::lighter_loading, Framework::unknown, {"beforehand", "on the GPU"}},
      {Advice::faster_storage, Framework::torch, {"local disk", "WebDataset", "num_workers"}},
      {Advice::faster_storage, Framework::tensorflow, {"local disk", "TFRecord", "interleave"}},
      {Advice::faster_storage, Framework::jax, {"local disk", "few large files"}},
      {Advice::faster_storage, Framework::unknown, {"local disk", "few large files"}},
      {Advice::overlap,
       Framework::torch,
       {"num_workers", "pin_memory=True", ".item()", "torch.compile"}},
      {Advice::overlap, Framework::tensorflow, {"tf.function", ".prefetch("}},
      {Advice::overlap, Framework::jax, {"jax.jit", "next batch"}},
      {Advice::overlap, Framework::unknown, {"next batch", "other processes"}},
      {Advice::pinned_copies, Framework::torch, {"pin_memory=True", "non_blocking=True"}},
      {Advice::pinned_copies, Framework::tensorflow, {"prefetch_to_device"}},
      {Advice::pinned_copies, Framework::jax, {"jax.device_put", "donate_argnums"}},
      {Advice::pinned_copies, Framework::unknown, {"pinned memory"}},
      {Advice::bigger_work,
       Framework::torch,
       {"batch size", "torch.compile", "CUDA graph", "fused=True", "gradient accumulation"}},
      {Advice::bigger_work, Framework::tensorflow, {"batch size", "jit_compile=True"}},
      {Advice::bigger_work, Framework::jax, {"batch size", "jax.lax.scan", "jax.vmap"}},
      {Advice::bigger_work, Framework::unknown, {"batch size", "CUDA graph"}},
      {Advice::less_traffic,
       Framework::torch,
       {"torch.autocast", "bfloat16", "torch.compile", "scaled_dot_product_attention"}},
      {Advice::less_traffic, Framework::tensorflow, {"mixed_precision", "jit_compile=True"}},
      {Advice::less_traffic, Framework::jax, {"bfloat16", "jax.jit"}},
      {Advice::less_traffic, Framework::unknown, {"half precision"}},
      {Advice::shorter_pauses, Framework::torch, {"async_save", "save less often"}},
      {Advice::shorter_pauses, Framework::tensorflow, {"async_checkpoint=True", "save less often"}},
      {Advice::shorter_pauses, Framework::jax, {"AsyncCheckpointer", "save less often"}},
      {Advice::shorter_pauses, Framework::unknown, {"in the background", "save less often"}},
      {Advice::onto_the_device, Framework::torch, {"model.to(\"cuda\")", "berth doctor"}},
      {Advice::onto_the_device, Framework::tensorflow, {"list_physical_devices", "berth doctor"}},
      {Advice::onto_the_device, Framework::jax, {"jax.devices()", "berth doctor"}},
      {Advice::onto_the_device, Framework::unknown, {"berth doctor"}},
      {Advice::balance_ranks,
       Framework::torch,
       {"berth explain", "same length", "no_sync()", "gradient accumulation"}},
      {Advice::balance_ranks, Framework::tensorflow, {"berth explain", "same amount of work"}},
      {Advice::balance_ranks, Framework::jax, {"berth explain", "same amount of work"}},
      {Advice::balance_ranks, Framework::unknown, {"berth explain", "same amount of work"}},
  };
  return table;
}

TEST(BottleneckAdvice, SaysWhatToChangeInTheWordsOfEachFramework) {
  EXPECT_EQ(wishes().size(), every_advice.size() * every_framework.size());
  for (const Expected& wish : wishes()) {
    const std::string said = words_of(wish.what, wish.framework);
    for (const std::string_view word : wish.words) EXPECT_THAT(said, HasSubstr(word));
  }
}

TEST(BottleneckAdvice, IsNeverEmpty) {
  for (const Advice what : every_advice) {
    for (const Framework framework : every_framework) {
      for (const int workers : {0, 1, 64}) {
        const auto steps = advice(what, framework, workers);
        EXPECT_THAT(steps, Not(IsEmpty()))
            << static_cast<int>(what) << " " << static_cast<int>(framework);
        for (const Finding::Step& step : steps) EXPECT_FALSE(step.what.english().empty());
      }
    }
  }
}

TEST(BottleneckAdvice, NamesHowManyWorkersFitTheCpusWhereThatIsKnown) {
  EXPECT_THAT(words_of(Advice::more_workers, Framework::torch, 12), HasSubstr("num_workers=12"));
  EXPECT_THAT(words_of(Advice::more_workers, Framework::torch, 12), HasSubstr("prefetch_factor"));
  EXPECT_THAT(words_of(Advice::more_workers, Framework::torch), Not(HasSubstr("num_workers=")));
  EXPECT_THAT(words_of(Advice::more_workers, Framework::unknown, 12), HasSubstr("12 processes"));
}

TEST(BottleneckAdvice, OfOneFrameworkNamesNoOthers) {
  for (const Advice what : every_advice) {
    for (const Framework other : {Framework::tensorflow, Framework::jax, Framework::unknown}) {
      EXPECT_THAT(words_of(what, other), Not(HasSubstr("torch."))) << static_cast<int>(what);
      EXPECT_THAT(words_of(what, other), Not(HasSubstr("DataLoader(")));
    }
    EXPECT_THAT(words_of(what, Framework::torch), Not(HasSubstr("tf.")));
    EXPECT_THAT(words_of(what, Framework::torch), Not(HasSubstr("jax.")));
  }
}

TEST(BottleneckAdvice, InAnAnswerSpeaksTheWordsOfTheFramework) {
  const auto words = [](Framework framework) {
    auto starved = ActivityBuilder().busy(45).main(230).workers(2, 490);
    return steps_in(first_finding(starved.with([&](Activity& one) { one.framework = framework; })));
  };
  EXPECT_THAT(words(Framework::torch), HasSubstr("num_workers=15"));
  EXPECT_THAT(words(Framework::tensorflow), HasSubstr("tf.data.AUTOTUNE"));
  EXPECT_THAT(words(Framework::jax), HasSubstr("worker_count"));
  EXPECT_THAT(words(Framework::unknown), Not(HasSubstr("num_workers")));
}

}  // namespace
}  // namespace berth::bottleneck
