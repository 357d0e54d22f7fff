// Doctor's facts and findings, for programs.

#include "base/json_archive.h"
#include "base/sentence.h"
#include "diagnose/doctor/gpu_speed.h"
#include "snapshot/questions.h"
#include "view/doctor_text.h"
#include "view/findings_text.h"

namespace berth {

namespace {

std::optional<std::string> text_of(const std::optional<TwoPart>& version) {
  return version ? std::optional(version->text()) : std::nullopt;
}

void write_device(Archive& archive, const Device& device, const Snapshot& snapshot) {
  archive.derived("id", device.id);
  archive.derived("index", device.index);
  archive.derived("name", device.name.get());
  archive.derived("state", name_of(state_of(device, snapshot)));
}

void write_cuda(Archive& archive, const Examined& host) {
  const CudaAnswer& cuda = *host.facts.cuda;
  archive.derived_list("devices", cuda.devices, [&](const CudaDevice& device) {
    const Device* known = doctor::device_of(device, host.snapshot);
    archive.derived("uuid", device.uuid);
    archive.derived("name", device.name);
    archive.derived("index", known != nullptr ? known->index : std::nullopt);
  });
  archive.derived("problem", cuda.problem, Form::nullable);
  archive.derived("error", cuda.code == 0 ? std::nullopt : std::optional(cuda.code));
}

void write_tokens(Archive& archive, const VisibleList& list) {
  archive.derived_list("tokens", list.tokens, [&](const VisibleList::Token& token) {
    archive.derived("text", token.text);
    archive.derived("meaning", token.meaning, Form::plain);
  });
}

void write_visible(Archive& archive, const VisibleList& visible) {
  archive.derived("value", visible.value);
  archive.derived("devices", visible.devices);
  write_tokens(archive, visible);
  archive.derived("remarks", visible.remarks);
  archive.derived("unclear", visible.unclear, Form::nullable);
  archive.derived("corrected", visible.corrected, Form::nullable);
}

std::string_view name_of(ImportEnd end) {
  constexpr std::string_view names[] = {"not_asked", "answered", "took_too_long", "crashed",
                                        "not_started"};
  return names[static_cast<int>(end)];
}

std::string_view name_of(InterpreterEnd end) {
  constexpr std::string_view names[] = {"not_asked", "answered",   "took_too_long", "crashed",
                                        "failed",    "not_python", "not_started"};
  return names[static_cast<int>(end)];
}

void write_framework(Archive& archive, const FrameworkBuild& build,
                     const PythonEnvironment& python) {
  const std::optional<TwoPart> nothing;
  const auto& cuda = build.cuda.get();
  FrameworkSaid said;
  for (const FrameworkSaid& one : python.said.frameworks) {
    if (one.name == build.name) said = one;
  }
  archive.derived("name", build.name);
  archive.derived("version", build.version);
  archive.derived("folder", build.where);
  archive.derived("installer", build.installer, Form::nullable);
  archive.derived("cuda", text_of(cuda ? *cuda : nothing));
  archive.derived("built_without_cuda", cuda ? std::optional(!cuda->has_value()) : std::nullopt);
  archive.derived("sees_gpu", said.sees_gpu);
  archive.derived("devices", said.devices);
  archive.derived("has_mkl", said.has_mkl);
  archive.derived("threads", said.threads);
  archive.derived("error", said.error, Form::nullable);
}

void write_python(Archive& archive, const PythonEnvironment& python) {
  const auto write_one = [&](const FrameworkBuild& build) {
    write_framework(archive, build, python);
  };
  const bool is_silent = python.frameworks.empty() && !python.is_known();
  archive.derived("interpreter", python.interpreter);
  archive.derived("found_by", python.found_by);
  archive.derived("environment", python.environment, Form::nullable);
  archive.derived("version", text_of(python.version));
  archive.derived("import", name_of(python.said.end));
  archive.derived("interpreter_answer", name_of(python.answer.end));
  if (is_silent) {
    archive.derived("frameworks", std::optional<bool>());
  } else {
    archive.derived_list("frameworks", python.frameworks, write_one);
  }
  archive.derived("packages", python.packages);
}

void write_libraries(Archive& archive, const Libraries& libraries) {
  archive.derived_list("found", libraries.found, [&](const FoundLibrary& library) {
    archive.derived("name", library.name);
    archive.derived("path", library.path);
    archive.derived("version", library.version, Form::nullable);
    archive.derived("via", library.via);
  });
  archive.derived("nvcc", libraries.nvcc, Form::nullable);
  archive.derived("nvcc_version", text_of(libraries.nvcc_version));
  archive.derived("toolkit", libraries.toolkit, Form::nullable);
}

void write_read_test(Archive& archive, const Reading<ReadSpeed>& measured) {
  std::optional<std::string> file;
  std::optional<Bytes> bytes;
  std::optional<double> per_second;
  std::optional<double> cached;
  if (const auto& speed = measured.get()) {
    file = speed->file;
    bytes = speed->bytes;
    per_second = speed->megabytes_per_second() * 1e6;
    cached = speed->cached.get();
  }
  archive.derived("file", file);
  archive.derived("bytes", bytes);
  archive.derived("bytes_per_second", per_second);
  archive.derived("cached_ratio", cached);
  archive.derived("why", file ? std::string_view() : name_of(measured.why()), Form::nullable);
}

void write_step(Archive& archive, const compute::ProofStep& step, const Device* device) {
  const auto best = device == nullptr ? std::nullopt : doctor::best_rate(step.what, *device);
  archive.derived("what", name_of(step.what));
  archive.derived("end", name_of(step.end));
  archive.derived("per_second", step.per_second);
  archive.derived("best_per_second", best);
  archive.derived("peer", step.peer, Form::nullable);
  archive.derived("detail", step.detail, Form::nullable);
}

void write_gpu_test(Archive& archive, const GpuProof& test, const Snapshot& snapshot) {
  const Device* device = find_device(test.device, snapshot);
  archive.derived("device", test.device);
  archive.derived("left_out", test.left_out, Form::nullable);
  archive.derived("cpu_threads", test.cpu_threads);
  archive.derived_list("steps", test.steps,
                       [&](const compute::ProofStep& step) { write_step(archive, step, device); });
}

/// What was looked at beside the snapshot. Null: nobody looked.
void write_host_facts(Archive& archive, const Examined& host) {
  const HostFacts& facts = host.facts;
  const bool has_read_test =
      facts.directory && facts.directory->read_speed != Reading<ReadSpeed>(Absent::not_sampled);
  archive.derived_object("cuda", facts.cuda.has_value(), [&] { write_cuda(archive, host); });
  archive.derived_object("visible_devices", host.visible.has_value(),
                         [&] { write_visible(archive, *host.visible); });
  archive.derived_object("container_devices", host.given.has_value(), [&] {
    archive.derived("value", host.given->value);
    write_tokens(archive, *host.given);
  });
  archive.derived_object("python", facts.python.has_value(),
                         [&] { write_python(archive, *facts.python); });
  archive.derived("python_problem", facts.python_problem, Form::nullable);
  archive.derived_object("libraries", facts.libraries.has_value(),
                         [&] { write_libraries(archive, *facts.libraries); });
  archive.derived_list("gpu_tests", host.gpu_proofs,
                       [&](const GpuProof& test) { write_gpu_test(archive, test, host.snapshot); });
  archive.derived_object("read_test", has_read_test,
                         [&] { write_read_test(archive, facts.directory->read_speed); });
}

}  // namespace

std::string doctor_json(const Examined& host, const Findings& findings) {
  const Snapshot& snapshot = host.snapshot;
  const auto worst = worst_of(findings);
  std::vector<Sentence> problems;
  for (const Problem& problem : snapshot.problems) problems.push_back(problem.message);
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_doctor", 1);
                      archive.derived("taken_unix_ms", snapshot.taken);
                      archive.derived("simulated", snapshot.simulated);
                      archive.derived("not_examined",
                                      doctor::is_elsewhere(host)
                                          ? "this machine's own driver files, libraries and limits "
                                            "are not examined: the devices are not this machine's"
                                          : std::string_view(),
                                      Form::nullable);
                      archive.derived("worst", worst ? name_of(*worst) : std::string_view(),
                                      Form::nullable);
                      archive.derived("driver_version",
                                      snapshot.host.software_of(Runtime::cuda).driver.get());
                      archive.derived("cuda_version_supported",
                                      snapshot.host.software_of(Runtime::cuda).runtime.get());
                      archive.derived_list("devices", snapshot.devices, [&](const Device& device) {
                        write_device(archive, device, snapshot);
                      });
                      write_host_facts(archive, host);
                      archive.derived("findings", findings);
                      archive.derived("problems", problems);
                    }) +
         "\n";
}

}  // namespace berth
