// What doctor saw and found, for programs.

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "diagnose/doctor/gpu_speed.h"
#include "snapshot/questions.h"
#include "view/doctor_text.h"
#include "view/findings_json.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <class T>
Json reading(const Reading<T>& value) {
  return value.get() ? Json(*value.get()) : Json(nullptr);
}

Json devices_json(const Examined& host) {
  Json all = Json::array();
  for (const Device& device : host.snapshot.devices) {
    all.push_back({{"id", device.id.text()},
                   {"index", device.index ? Json(*device.index) : Json(nullptr)},
                   {"name", reading(device.name)},
                   {"state", name_of(state_of(device, host.snapshot))}});
  }
  return all;
}

Json cuda_json(const Examined& host) {
  if (!host.world.cuda) return nullptr;
  Json order = Json::array();
  for (const CudaDevice& device : host.world.cuda->devices) {
    const Device* known = doctor::device_of(device, host.snapshot);
    Json index = known != nullptr && known->index ? Json(*known->index) : Json(nullptr);
    order.push_back({{"uuid", device.uuid}, {"name", device.name}, {"index", std::move(index)}});
  }
  return {{"devices", std::move(order)},
          {"problem", or_null(host.world.cuda->problem)},
          {"error", host.world.cuda->code == 0 ? Json(nullptr) : Json(host.world.cuda->code)}};
}

Json tokens_json(const VisibleList& list) {
  Json tokens = Json::array();
  for (const VisibleList::Token& token : list.tokens) {
    tokens.push_back({{"text", token.text}, {"meaning", token.meaning}});
  }
  return tokens;
}

Json visible_json(const Examined& host) {
  if (!host.visible) return nullptr;
  Json devices = Json::array();
  for (const DeviceId& id : host.visible->devices) devices.push_back(id.text());
  return {{"value", host.visible->value},
          {"devices", std::move(devices)},
          {"tokens", tokens_json(*host.visible)},
          {"remarks", host.visible->remarks},
          {"unclear", or_null(host.visible->unclear)}};
}

Json given_json(const Examined& host) {
  if (!host.given) return nullptr;
  return {{"value", host.given->value}, {"tokens", tokens_json(*host.given)}};
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

Json framework_json(const FrameworkBuild& build, const PythonWorld& python) {
  Json json = {{"name", build.name},    {"version", build.version},
               {"folder", build.where}, {"installer", or_null(build.installer)},
               {"cuda", nullptr},       {"built_without_cuda", nullptr},
               {"sees_gpu", nullptr},   {"devices", nullptr},
               {"has_mkl", nullptr},    {"threads", nullptr},
               {"error", nullptr}};
  if (const auto& cuda = build.cuda.get()) {
    json["built_without_cuda"] = !cuda->has_value();
    if (*cuda) json["cuda"] = (*cuda)->text();
  }
  for (const FrameworkSaid& said : python.said.frameworks) {
    if (said.name != build.name) continue;
    if (said.sees_gpu) json["sees_gpu"] = *said.sees_gpu;
    if (said.devices) json["devices"] = *said.devices;
    if (said.has_mkl) json["has_mkl"] = *said.has_mkl;
    if (said.threads) json["threads"] = *said.threads;
    json["error"] = or_null(said.error);
  }
  return json;
}

Json python_json(const Examined& host) {
  if (!host.world.python) return nullptr;
  const PythonWorld& python = *host.world.python;
  Json frameworks = Json::array();
  for (const FrameworkBuild& build : python.frameworks) {
    frameworks.push_back(framework_json(build, python));
  }
  const bool is_silent = python.frameworks.empty() && !python.is_known();
  Json packages = Json::object();
  for (const auto& [name, version] : python.packages) packages[name] = version;
  return {{"interpreter", python.interpreter},
          {"found_by", python.found_by},
          {"environment", or_null(python.environment)},
          {"version", python.version ? Json(python.version->text()) : Json(nullptr)},
          {"import", name_of(python.said.end)},
          {"interpreter_answer", name_of(python.answer.end)},
          {"frameworks", is_silent ? Json(nullptr) : std::move(frameworks)},
          {"packages", std::move(packages)}};
}

Json libraries_json(const Examined& host) {
  if (!host.world.libraries) return nullptr;
  Json found = Json::array();
  for (const FoundLibrary& library : host.world.libraries->found) {
    found.push_back({{"name", library.name},
                     {"path", library.path},
                     {"version", or_null(library.version)},
                     {"via", library.via}});
  }
  const auto& version = host.world.libraries->nvcc_version;
  return {{"found", std::move(found)},
          {"nvcc", or_null(host.world.libraries->nvcc)},
          {"nvcc_version", version ? Json(version->text()) : Json(nullptr)},
          {"toolkit", or_null(host.world.libraries->toolkit)}};
}

Json read_test_json(const Examined& host) {
  if (!host.world.directory) return nullptr;
  const Reading<ReadSpeed>& measured = host.world.directory->read_speed;
  if (const auto& speed = measured.get()) {
    return {{"file", speed->file},
            {"bytes", speed->bytes.count()},
            {"bytes_per_second", speed->megabytes_per_second() * 1e6},
            {"cached_ratio", reading(speed->cached)},
            {"why", nullptr}};
  }
  if (measured.why() == Absent::not_sampled) return nullptr;
  return {{"file", nullptr},
          {"bytes", nullptr},
          {"bytes_per_second", nullptr},
          {"cached_ratio", nullptr},
          {"why", name_of(measured.why())}};
}

Json gpu_tests_json(const Examined& host) {
  Json tests = Json::array();
  for (const GpuProof& test : host.gpu_proofs) {
    Json steps = Json::array();
    for (const compute::ProofStep& step : test.steps) {
      const Device* device = find_device(test.device, host.snapshot);
      const auto best = device == nullptr ? std::nullopt : doctor::best_rate(step.what, *device);
      steps.push_back({{"what", name_of(step.what)},
                       {"end", name_of(step.end)},
                       {"per_second", step.per_second ? Json(*step.per_second) : Json(nullptr)},
                       {"best_per_second", best ? Json(*best) : Json(nullptr)},
                       {"peer", or_null(step.peer)},
                       {"detail", or_null(step.detail)}});
    }
    tests.push_back({{"device", test.device.text()},
                     {"left_out", or_null(test.left_out)},
                     {"cpu_threads", test.cpu_threads},
                     {"steps", std::move(steps)}});
  }
  return tests;
}

}  // namespace

std::string doctor_json(const Examined& host, const Findings& findings) {
  const auto worst = worst_of(findings);
  Json root = {
      {"berth_doctor", 1},
      {"taken_unix_ms", host.snapshot.taken.unix_ms},
      {"simulated", host.snapshot.simulated ? Json(*host.snapshot.simulated) : Json(nullptr)},
      {"worst", worst ? Json(name_of(*worst)) : Json(nullptr)},
      {"driver_version", reading(host.snapshot.host.driver_version)},
      {"cuda_version_supported", reading(host.snapshot.host.cuda_version_supported)}};
  root["devices"] = devices_json(host);
  root["cuda"] = cuda_json(host);
  root["visible_devices"] = visible_json(host);
  root["container_devices"] = given_json(host);
  root["python"] = python_json(host);
  root["python_problem"] = or_null(host.world.python_problem);
  root["libraries"] = libraries_json(host);
  root["gpu_tests"] = gpu_tests_json(host);
  root["read_test"] = read_test_json(host);
  root["findings"] = findings_json(findings);
  Json problems = Json::array();
  for (const Problem& problem : host.snapshot.problems) problems.push_back(problem.message);
  root["problems"] = std::move(problems);
  return printable_json(root.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace berth
