// A record's manifest and end as JSON (doc/FORMATS.md, "Run record").

#include <exception>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "record/record_writer.h"
#include "snapshot/json.h"
#include "snapshot/json_number.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// A mistake in the file, thrown inside this file only and turned into an Error at its border.
struct Malformed {
  std::string what;
};

template <class T>
T number(const Json& value, const char* what) {
  if (const auto number = number_in<T>(value)) return *number;
  throw Malformed{std::string(what) + " has a value of the wrong type or range"};
}

template <class T>
std::optional<T> number_or_null(const Json& value, const char* what) {
  if (value.is_null()) return std::nullopt;
  return number<T>(value, what);
}

template <class T>
Json json_of(const T& value) {
  return value;
}
template <class Tag, class Rep>
Json json_of(const Quantity<Tag, Rep>& quantity) {
  return quantity.count();
}

Json json_of(const std::optional<std::int64_t>& number) { return number ? Json(*number) : Json(); }

/// Records of an older berth lack some.
std::optional<std::int64_t> number_if_there(const Json& object, const char* key) {
  if (!object.contains(key)) return std::nullopt;
  return number_or_null<std::int64_t>(object.at(key), key);
}

/// The value, or null with the reason under "why".
template <class T>
void put(Json& object, const char* key, const Reading<T>& reading) {
  if (reading.get()) {
    object[key] = json_of(*reading.get());
  } else {
    object[key] = nullptr;
    object["why"][key] = name_of(reading.why());
  }
}

template <class T>
Reading<T> take(const Json& object, const char* key) {
  if (!object.contains(key)) return Absent::not_sampled;
  if (object.at(key).is_null()) {
    const auto why = object.value("why", Json::object()).value(key, std::string());
    return absent_from_name(why).value_or(Absent::failed);
  }
  if constexpr (requires { typename T::rep; }) {
    return T(number<typename T::rep>(object.at(key), key));
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return number<T>(object.at(key), key);
  } else {
    return object.at(key).get<T>();
  }
}

Json json_of_pairs(const Pairs& pairs) {
  Json object = Json::object();
  for (const auto& [name, value] : pairs) object[name] = value;
  return object;
}

Pairs pairs_from(const Json& object) {
  Pairs pairs;
  for (const auto& [name, value] : object.items())
    pairs.emplace_back(name, value.get<std::string>());
  return pairs;
}

Json json_of_process(const ProcessId& process) {
  return {{"pid", process.pid}, {"start_ticks", process.start_ticks}};
}

ProcessId process_from(const Json& object) {
  return {.pid = number<pid_t>(object.at("pid"), "pid"),
          .start_ticks = number<std::uint64_t>(object.at("start_ticks"), "start_ticks")};
}

Json json_of_gathered(const Manifest& manifest) {
  Json gathered;
  Json& machine = gathered["machine"];
  put(machine, "instance_type", manifest.machine.instance_type);
  put(machine, "operating_system", manifest.machine.operating_system);
  put(machine, "cpu_model", manifest.machine.cpu_model);
  put(machine, "cpu_count", manifest.machine.cpu_count);
  put(machine, "memory_total_bytes", manifest.machine.memory_total);
  put(machine, "container", manifest.machine.container);
  if (manifest.git) {
    Json& git = gathered["git"];
    git["root"] = manifest.git->root;
    put(git, "commit", manifest.git->commit);
    put(git, "branch", manifest.git->branch);
    put(git, "dirty", manifest.git->dirty);
  }
  if (manifest.python) {
    Json& python = gathered["python"];
    python["interpreter"] = manifest.python->interpreter;
    put(python, "version", manifest.python->version);
    python["environment"] = manifest.python->environment;
    python["packages"] = json_of_pairs(manifest.python->packages);
    python["frameworks"] = Json::array();
    for (const FrameworkFacts& framework : manifest.python->frameworks) {
      Json one = {{"name", framework.name}, {"version", framework.version}};
      put(one, "cuda", framework.cuda);
      python["frameworks"].push_back(std::move(one));
    }
  }
  gathered["variables"] = json_of_pairs(manifest.variables);
  gathered["variables_set"] = json_of_pairs(manifest.variables_set);
  if (manifest.toolkit) {
    Json& toolkit = gathered["toolkit"];
    put(toolkit, "nvcc_version", manifest.toolkit->nvcc_version);
    toolkit["libraries"] = json_of_pairs(manifest.toolkit->libraries);
  }
  return gathered;
}

void read_gathered(const Json& json, Manifest& manifest) {
  const Json& machine = json.at("machine");
  manifest.machine.instance_type = take<std::string>(machine, "instance_type");
  manifest.machine.operating_system = take<std::string>(machine, "operating_system");
  manifest.machine.cpu_model = take<std::string>(machine, "cpu_model");
  manifest.machine.cpu_count = take<std::uint64_t>(machine, "cpu_count");
  manifest.machine.memory_total = take<Bytes>(machine, "memory_total_bytes");
  manifest.machine.container = take<std::string>(machine, "container");
  if (json.contains("git")) {
    const Json& git = json.at("git");
    manifest.git = GitFacts{.root = git.value("root", std::string()),
                            .commit = take<std::string>(git, "commit"),
                            .branch = take<std::string>(git, "branch"),
                            .dirty = take<bool>(git, "dirty")};
  }
  if (json.contains("python")) {
    const Json& python = json.at("python");
    manifest.python = PythonFacts{.interpreter = python.value("interpreter", std::string()),
                                  .version = take<std::string>(python, "version"),
                                  .environment = python.value("environment", std::string()),
                                  .packages = pairs_from(python.at("packages"))};
    // Records of an older berth lack them.
    for (const Json& one : python.value("frameworks", Json::array())) {
      manifest.python->frameworks.push_back({.name = one.at("name").get<std::string>(),
                                             .version = one.at("version").get<std::string>(),
                                             .cuda = take<std::string>(one, "cuda")});
    }
  }
  manifest.variables = pairs_from(json.at("variables"));
  // Records of an older berth lack it.
  manifest.variables_set = pairs_from(json.value("variables_set", Json::object()));
  if (json.contains("toolkit")) {
    const Json& toolkit = json.at("toolkit");
    manifest.toolkit = ToolkitFacts{.nvcc_version = take<std::string>(toolkit, "nvcc_version"),
                                    .libraries = pairs_from(toolkit.at("libraries"))};
  }
}

Json json_of_manifest(const Manifest& manifest) {
  Json json;
  json["format"] = "berth-run";
  json["version"] = Manifest::format_version;
  json["id"] = manifest.id;
  json["command"] = manifest.command;
  json["working_directory"] = manifest.working_directory;
  json["started_unix_ms"] = manifest.started.unix_ms;
  json["started_steady_ms"] = json_of(manifest.started_steady_ms);
  json["machine_id"] = manifest.machine_id;
  json["boot_id"] = manifest.boot_id;
  json["uid"] = manifest.uid;
  json["user"] = manifest.user;
  json["keeper"] = json_of_process(manifest.keeper);
  json["job"] = manifest.job ? json_of_process(*manifest.job) : Json();
  json["lease"] = manifest.lease;
  json["inside"] = manifest.inside;
  json["retry_of"] = manifest.retry_of.empty() ? Json() : Json(manifest.retry_of);
  json["wanted"] = manifest.wanted;
  json["devices_wanted"] = manifest.devices_wanted ? Json(*manifest.devices_wanted) : Json();
  json["cpu_only"] = manifest.cpu_only;
  json["waiting"] = manifest.waiting;
  json["waited_ms"] = manifest.waited_ms;
  json["time_limit_ms"] = manifest.time_limit_ms ? Json(*manifest.time_limit_ms) : Json();
  json["log"] = manifest.log ? Json(*manifest.log) : Json();
  json["given"] = Json::parse(to_json(manifest.given, JsonLayout::compact));
  json["promised_bytes"] = Json::array();
  for (const auto& promised : manifest.promised) {
    json["promised_bytes"].push_back(promised ? Json(promised->count()) : Json());
  }
  json["complete"] = manifest.complete;
  json.update(json_of_gathered(manifest));
  return json;
}

Manifest manifest_from(const Json& json) {
  Manifest manifest;
  manifest.id = json.at("id").get<std::string>();
  manifest.command = json.at("command").get<std::vector<std::string>>();
  manifest.working_directory = json.at("working_directory").get<std::string>();
  manifest.started = {number<std::int64_t>(json.at("started_unix_ms"), "started_unix_ms")};
  manifest.started_steady_ms = number_if_there(json, "started_steady_ms");
  manifest.machine_id = json.at("machine_id").get<std::string>();
  manifest.boot_id = json.at("boot_id").get<std::string>();
  manifest.uid = number<uid_t>(json.at("uid"), "uid");
  manifest.user = json.at("user").get<std::string>();
  manifest.keeper = process_from(json.at("keeper"));
  if (!json.at("job").is_null()) manifest.job = process_from(json.at("job"));
  manifest.lease = json.at("lease").get<std::string>();
  manifest.inside = json.at("inside").get<std::string>();
  // Records of an older berth lack it.
  if (json.contains("retry_of") && !json.at("retry_of").is_null()) {
    manifest.retry_of = json.at("retry_of").get<std::string>();
  }
  manifest.wanted = json.at("wanted").get<std::string>();
  if (json.contains("devices_wanted")) {
    manifest.devices_wanted = number_or_null<int>(json.at("devices_wanted"), "devices_wanted");
  }
  manifest.cpu_only = json.at("cpu_only").get<bool>();
  manifest.waiting = json.value("waiting", false);  // records of an older berth lack it
  manifest.waited_ms = number<std::int64_t>(json.at("waited_ms"), "waited_ms");
  manifest.time_limit_ms = number_or_null<std::int64_t>(json.at("time_limit_ms"), "time_limit_ms");
  if (!json.at("log").is_null()) manifest.log = json.at("log").get<std::string>();
  for (const Json& promised : json.at("promised_bytes")) {
    const auto bytes = number_or_null<std::uint64_t>(promised, "promised_bytes");
    manifest.promised.push_back(bytes ? std::optional(Bytes(*bytes)) : std::nullopt);
  }
  manifest.complete = json.at("complete").get<bool>();
  read_gathered(json, manifest);
  return manifest;
}

Json json_of_summary(const Summary& summary) {
  const auto source = [](EnergySource of) {
    return of == EnergySource::counter ? "counter" : "integrated power";
  };
  Json json;
  json["samples"] = summary.samples;
  put(json, "mean_utilization_percent", summary.mean_utilization);
  put(json, "energy_millijoules", summary.energy);
  json["energy_source"] = source(summary.energy_source);
  put(json, "tree_memory_peak_bytes", summary.tree_memory_peak);
  put(json, "tree_cpu_milliseconds", summary.tree_cpu);
  put(json, "device_files_open", summary.device_files_open);
  put(json, "device_files_looks", summary.device_files_looks);
  put(json, "gpu_contexts", summary.gpu_contexts);
  put(json, "gpu_contexts_looks", summary.gpu_contexts_looks);
  json["devices"] = Json::array();
  for (const DeviceSummary& one : summary.devices) {
    Json device;
    put(device, "mean_utilization_percent", one.mean_utilization);
    put(device, "memory_peak_bytes", one.memory_peak);
    device["memory_source"] =
        one.memory_source == MemorySource::own_processes ? "own processes" : "whole device";
    put(device, "energy_millijoules", one.energy);
    device["energy_source"] = source(one.energy_source);
    put(device, "temperature_peak_celsius", one.temperature_peak);
    put(device, "not_read_milliseconds", one.not_read);
    json["devices"].push_back(std::move(device));
  }
  return json;
}

Summary summary_from(const Json& json) {
  const auto source = [](const Json& of) {
    return of.value("energy_source", std::string()) == "counter" ? EnergySource::counter
                                                                 : EnergySource::integrated_power;
  };
  Summary summary;
  summary.samples = number<std::uint64_t>(json.at("samples"), "samples");
  summary.mean_utilization = take<Percent>(json, "mean_utilization_percent");
  summary.energy = take<Millijoules>(json, "energy_millijoules");
  summary.energy_source = source(json);
  summary.tree_memory_peak = take<Bytes>(json, "tree_memory_peak_bytes");
  summary.tree_cpu = take<Milliseconds>(json, "tree_cpu_milliseconds");
  summary.device_files_open = take<std::uint64_t>(json, "device_files_open");
  summary.device_files_looks = take<std::uint64_t>(json, "device_files_looks");
  summary.gpu_contexts = take<std::uint64_t>(json, "gpu_contexts");
  summary.gpu_contexts_looks = take<std::uint64_t>(json, "gpu_contexts_looks");
  for (const Json& one : json.at("devices")) {
    const bool own = one.value("memory_source", std::string()) == "own processes";
    summary.devices.push_back(
        {.mean_utilization = take<Percent>(one, "mean_utilization_percent"),
         .memory_peak = take<Bytes>(one, "memory_peak_bytes"),
         .memory_source = own ? MemorySource::own_processes : MemorySource::whole_device,
         .energy = take<Millijoules>(one, "energy_millijoules"),
         .energy_source = source(one),
         .temperature_peak = take<Celsius>(one, "temperature_peak_celsius"),
         .not_read = take<Milliseconds>(one, "not_read_milliseconds")});
  }
  return summary;
}

Json json_of_end(const RunEnd& end) {
  Json json;
  json["format"] = "berth-run-end";
  json["version"] = Manifest::format_version;
  json["at_unix_ms"] = end.at.unix_ms;
  json["known"] = end.known;
  json["exit_code"] = end.known && end.exit.signal == 0 ? Json(end.exit.code) : Json();
  json["signal"] = end.exit.signal != 0 ? Json(end.exit.signal) : Json();
  json["dumped_core"] = end.exit.dumped;
  json["lasted_milliseconds"] = json_of(end.lasted_ms);
  json["because"] = end.because;
  json["stopped_by"] = end.stopped_by.empty() ? Json() : Json(end.stopped_by);
  json["released_unix_ms"] = end.released ? Json(end.released->unix_ms) : Json();
  json["cpu_milliseconds"] = end.cpu_ms ? Json(*end.cpu_ms) : Json();
  json["summary"] = json_of_summary(end.summary);
  return json;
}

RunEnd end_from(const Json& json) {
  RunEnd end;
  end.at = {number<std::int64_t>(json.at("at_unix_ms"), "at_unix_ms")};
  end.known = json.at("known").get<bool>();
  const auto code = number_or_null<int>(json.at("exit_code"), "exit_code");
  const auto signal = number_or_null<int>(json.at("signal"), "signal");
  // Both missing would read as success.
  if (end.known && !code && !signal) throw Malformed{"neither exit_code nor signal is there"};
  end.exit.code = code.value_or(0);
  end.exit.signal = signal.value_or(0);
  end.exit.dumped = json.at("dumped_core").get<bool>();
  end.lasted_ms = number_if_there(json, "lasted_milliseconds");
  end.because = json.at("because").get<std::string>();
  if (json.contains("stopped_by") && !json.at("stopped_by").is_null()) {
    end.stopped_by = json.at("stopped_by").get<std::string>();
  }
  if (const auto released =
          number_or_null<std::int64_t>(json.at("released_unix_ms"), "released_unix_ms")) {
    end.released = WallTime{*released};
  }
  end.cpu_ms = number_or_null<std::int64_t>(json.at("cpu_milliseconds"), "cpu_milliseconds");
  end.summary = summary_from(json.at("summary"));
  return end;
}

/// Text of the user (a directory, a command) may not be UTF-8: JSON must be.
std::string dumped(const Json& json) {
  return printable_json(json.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

/// Parses a document of this format and version, turning what JSON throws into an Error.
template <class T>
Result<T> parsed(std::string_view text, const char* format, T (*from)(const Json&)) {
  try {
    if (nesting_depth(text) > 100) throw Malformed{"not readable as JSON: nested too deeply"};
    const Json json = Json::parse(text);
    if (json.at("format") != format) {
      return fail(ErrorCode::invalid, std::string("not a document of format ") + format);
    }
    if (number<int>(json.at("version"), "version") > Manifest::format_version) {
      return fail(ErrorCode::unsupported, "written by a newer berth: use that one to read it");
    }
    return from(json);
  } catch (const Json::exception& wrong) {
    return fail(ErrorCode::invalid, std::string("not readable as JSON: ") + wrong.what());
  } catch (const Malformed& mistake) {
    return fail(ErrorCode::invalid, mistake.what);
  }
}

}  // namespace

std::string manifest_to_json(const Manifest& manifest) {
  return dumped(json_of_manifest(manifest));
}

Result<Manifest> manifest_from_json(std::string_view text) {
  auto manifest = parsed<Manifest>(text, "berth-run", manifest_from);
  if (!manifest) return manifest;
  // The devices are the interchange format: its own reader, which throws nothing.
  const Json json = Json::parse(text, nullptr, false);
  auto given = snapshot_from_json(json.value("given", Json::object()).dump());
  if (!given) return std::unexpected(std::move(given).error().because("reading its devices"));
  manifest->given = std::move(*given);
  return manifest;
}

std::string end_to_json(const RunEnd& end) { return dumped(json_of_end(end)); }

Result<RunEnd> end_from_json(std::string_view text) {
  return parsed<RunEnd>(text, "berth-run-end", end_from);
}

std::string to_json(const RunRecord& run) {
  Json json = json_of_manifest(run.manifest);
  json["state"] = name_of(run.state);
  json["directory"] = run.directory;
  json["end"] = run.end ? json_of_end(*run.end) : Json();
  json["summary"] = json_of_summary(summary_of(run));
  json["figures_invented"] = run.manifest.given.simulated.has_value();
  json["problems"] = run.problems;
  json["marks"] = Json::array();
  for (const Mark& mark : marks_of(run)) {
    json["marks"].push_back(
        {{"at_unix_ms", mark.at.unix_ms}, {"exact", mark.exact}, {"text", mark.text}});
  }
  json["events"] = Json::array();
  for (const RunEvent& event : events_of(run)) {
    json["events"].push_back(
        {{"at_unix_ms", event.at.unix_ms}, {"kind", event.kind}, {"text", event.text}});
  }
  return dumped(json);
}

}  // namespace berth
