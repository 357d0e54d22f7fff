#include "host_environment/environment.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text.h"
#include "snapshot/device_kind_rows.h"

namespace berth {

namespace {
constexpr std::array<std::string_view, 5> thread_variables = {
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS"};
/// By these a library is told a number of threads, too; nobody needs them beside the others.
constexpr std::array<std::string_view, 5> further_thread_variables = {
    "MKL_DOMAIN_NUM_THREADS", "GOTO_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_MAX_THREADS"};

// What changes a run's results or speed, beside variable_beginnings. A name alone ends in "=". TF_
// and PYTHON are no such beginnings: Terraform has TF_CLI_…, and most of Python's own only change
// its output.
constexpr std::string_view notable_beginnings[] = {
    "TORCH",
    "PYTORCH_",
    "TF_CPP_",
    "TF_CUDNN_",
    "TF_DETERMINISTIC_",
    "TF_ENABLE_",
    "TF_FORCE_",
    "TF_GPU_",
    "TF_NUM_",
    "TF_USE_",
    "TF_XLA_",
    "TF_CONFIG=",
    "XLA_",
    "JAX_",
    "OMP_",
    "MKL_",
    "KMP_",
    "OPENBLAS_",
    "NUMEXPR_",
    "NUMBA_",
    "GOTO_NUM_THREADS=",
    "BLIS_",
    "VECLIB_",
    "SLURM_",
    "MASTER_",
    "WORLD_SIZE",
    "RANK",
    "LOCAL_",
    "HF_",
    "ACCELERATE_",
    "DEEPSPEED_",
    "CONDA_DEFAULT_ENV",
    "VIRTUAL_ENV",
    "PYTHONHASHSEED=",
    "PYTHONHOME=",
    "PYTHONMALLOC=",
    "PYTHONNOUSERSITE=",
    "PYTHONOPTIMIZE=",
    "PYTHONPATH=",
    "PYTHONUSERBASE=",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "BERTH_",
};

/// One choice counts for all libraries: they take each other's variables where their own is not
/// set, and MKL's own goes before OMP_NUM_THREADS.
bool chooses_threads(const std::vector<std::string>& environment) {
  const auto is_set = [&](std::string_view name) {
    return value_of(environment, name).has_value();
  };
  return std::ranges::any_of(thread_variables, is_set) ||
         std::ranges::any_of(further_thread_variables, is_set);
}
}  // namespace

std::vector<Sentence> take_away(const std::vector<std::string>& names,
                                std::vector<std::string>& environment) {
  std::vector<Sentence> remarks;
  for (const std::string& name : names) {
    const auto erased = std::erase_if(
        environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
    if (erased == 0) continue;
    remarks.push_back(
        sentence("{} is taken from the job: it would number anew what the job was given", name));
  }
  return remarks;
}

std::uint64_t sensible_threads(std::uint64_t cpus) {
  constexpr std::uint64_t small_machine = 8;
  return std::max<std::uint64_t>(1,
                                 cpus <= small_machine ? cpus : std::max(small_machine, cpus / 4));
}

std::vector<Variable> cpu_only_settings(const std::vector<std::string>& environment,
                                        unsigned threads) {
  std::vector<Variable> settings;
  for (const auto& [name, value] : cpu_only_variables) settings.emplace_back(name, value);
  if (chooses_threads(environment)) return settings;
  for (const std::string_view name : thread_variables) {
    settings.emplace_back(name, std::to_string(threads));
  }
  return settings;
}

std::vector<Variable> notable_variables(const std::vector<std::string>& environment) {
  std::vector<Variable> notable;
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    const auto is_one = [&](std::string_view beginning) { return entry.starts_with(beginning); };
    const bool matters = std::ranges::find(told_variables, name) != told_variables.end() ||
                         std::ranges::any_of(variable_beginnings, is_one) ||
                         std::ranges::any_of(notable_beginnings, is_one);
    if (!matters || equals == std::string::npos) continue;
    // masked_text() sees NAME=value as a whole, so that the name can tell of a secret.
    const std::string masked = masked_text(entry);
    notable.emplace_back(name, masked.size() > equals ? masked.substr(equals + 1) : "***");
  }
  std::sort(notable.begin(), notable.end());
  return notable;
}

}  // namespace berth
