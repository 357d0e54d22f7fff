#include "app/recipes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"

// Placed here by recipes.S.
#define BERTH_RECIPE_SYMBOL(name)          \
  extern const char berth_recipe_##name[]; \
  extern const char berth_recipe_##name##_end[];
extern "C" {
BERTH_RECIPE_SYMBOL(accumulate)
BERTH_RECIPE_SYMBOL(mixed_precision)
BERTH_RECIPE_SYMBOL(activation_checkpointing)
BERTH_RECIPE_SYMBOL(busy_gpu)
BERTH_RECIPE_SYMBOL(data_loader)
BERTH_RECIPE_SYMBOL(memory_marks)
BERTH_RECIPE_SYMBOL(distributed)
BERTH_RECIPE_SYMBOL(resume)
}
#undef BERTH_RECIPE_SYMBOL

namespace berth {

namespace {

constexpr Recipe table[] = {
    {"accumulate", "out of memory: the step of a large batch, in pieces that fit",
     "berth run --or-cpu -- python3 ", berth_recipe_accumulate, berth_recipe_accumulate_end},
    {"mixed_precision", "out of memory, or slow: bfloat16, or float16 with a scaler",
     "berth run --or-cpu -- python3 ", berth_recipe_mixed_precision,
     berth_recipe_mixed_precision_end},
    {"activation_checkpointing", "out of memory: activations computed again instead of kept",
     "berth run --or-cpu -- python3 ", berth_recipe_activation_checkpointing,
     berth_recipe_activation_checkpointing_end},
    {"busy_gpu", "low utilisation: larger batches, copies that overlap, torch.compile",
     "berth run --or-cpu -- python3 ", berth_recipe_busy_gpu, berth_recipe_busy_gpu_end},
    {"data_loader", "low utilisation: the data loader's settings, measured",
     "berth run --or-cpu -- python3 ", berth_recipe_data_loader, berth_recipe_data_loader_end},
    {"memory_marks", "memory per epoch in the run's record, and what a leak looks like",
     "berth run --or-cpu -- python3 ", berth_recipe_memory_marks, berth_recipe_memory_marks_end},
    {"distributed", "several GPUs: distributed data parallel by torchrun",
     "berth run -n 2 -- torchrun --rdzv_backend=c10d --rdzv_endpoint=localhost:0 "
     "--nproc_per_node=2 ",
     berth_recipe_distributed, berth_recipe_distributed_end},
    {"resume", "time limits: a checkpoint on a signal, and on from there",
     "berth run --or-cpu --time 8h -- python3 ", berth_recipe_resume, berth_recipe_resume_end},
};

}  // namespace

std::span<const Recipe> recipes() { return table; }

const Recipe* find_recipe(std::string_view name) {
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  for (const Recipe& recipe : table) {
    if (wanted == recipe.name || wanted == recipe.file()) return &recipe;
  }
  return nullptr;
}

RecipePlace recipe_place(const std::string& path, const Recipe& recipe) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0) {
    return errno == ENOENT ? RecipePlace::free : RecipePlace::taken;
  }
  if (!S_ISREG(facts.st_mode)) return RecipePlace::taken;
  const auto there = read_file(path);
  return there && *there == recipe.text() ? RecipePlace::same : RecipePlace::taken;
}

Result<void> write_recipe(const std::string& path, const Recipe& recipe, Overwrite overwrite) {
  if (overwrite == Overwrite::yes) return write_file_atomically(path, recipe.text());
  auto file = open_fd(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
  if (!file) return std::unexpected(std::move(file).error());
  auto written = write_all(file->get(), recipe.text());
  if (written) return {};
  ::unlink(path.c_str());
  return std::unexpected(std::move(written).error().because("writing {}", path));
}

}  // namespace berth
