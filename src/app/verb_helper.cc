// `berth helper`: looks, chooses, queues and claims for a program that has libberth in it. That
// program asks over a socket, and gets the locked descriptor of its lease. The driver and the
// waiting stay here; the program keeps the lease. The protocol stands in lib/helper_client.h.
//
// It is no child of the program (lib/helper_client.cc), and has a session of its own, as a keeper
// has. So its processes are not the program's. It ends when the program closes the socket, as at
// its end. It also ends after a minute without a question.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/live.h"
#include "app/past_runs.h"
#include "app/run_options.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/json_archive.h"
#include "base/line_socket.h"
#include "base/process.h"
#include "base/sentence.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "config/config.h"
#include "host_environment/environment.h"
#include "place/visible_devices.h"
#include "run/adopted_run.h"
#include "run/cap.h"
#include "run/inside.h"
#include "run/run_manifest.h"
#include "run/tree.h"
#include "snapshot/fields.h"
#include "snapshot/json.h"
#include "view/placement_text.h"

namespace berth {

namespace {

/// The protocols that this berth speaks.
constexpr int oldest_protocol = 1;
constexpr int newest_protocol = 1;
constexpr std::size_t longest_question = 1 << 20;
constexpr Duration unused_for = std::chrono::seconds(60);

/// The program that asks, at the other end of the socket.
class AskingProgram {
 public:
  static Result<AskingProgram> open(int fd) {
    LineSocket socket{Fd(fd)};
    const auto pid = socket.peer();
    auto process = pid ? identify_process(*pid) : std::unexpected(pid.error());
    if (!process) return std::unexpected(std::move(process).error());
    auto life = open_pidfd(*pid);
    if (!life) return std::unexpected(std::move(life).error());
    return AskingProgram(std::move(socket), *process, *std::move(life));
  }

  [[nodiscard]] const ProcessId& process() const { return process_; }

  /// The next question; nothing: it has gone, or asks nothing.
  std::optional<std::string> next_question() {
    while (true) {
      auto line = socket_.receive(longest_question);
      if (!line) return std::nullopt;
      if (*line) return std::move((*line)->text);
      if (!wait_readable({socket_.descriptor(), life_.get()}, unused_for)[0]) return std::nullopt;
    }
  }

  /// Whether it has gone, or has said anything since: it wants no device any more.
  [[nodiscard]] bool has_had_enough() const {
    const auto readable = wait_readable({socket_.descriptor(), life_.get()}, Duration(0));
    return readable[0] || readable[1];
  }

  /// Whether the kernel interrupts our waiting as soon as that becomes so. A program that leaves
  /// the queue need not wait for the next beat.
  void interrupts_us(bool wanted) {
    const int socket = socket_.descriptor();
    const int flags = ::fcntl(socket, F_GETFL);
    (void)::fcntl(socket, F_SETOWN, ::getpid());
    (void)::fcntl(socket, F_SETFL, wanted ? flags | O_ASYNC : flags & ~O_ASYNC);
  }

  /// What it says of a lease that is recorded; nothing: `other` is readable, or the time is over.
  enum class Said { nothing, is_done, has_gone };
  Said listen(int other, std::optional<Duration> patience) {
    const auto readable = wait_readable({socket_.descriptor(), life_.get(), other}, patience);
    const auto line = socket_.receive(longest_question);
    if (line && *line) return Said::is_done;
    return !line || readable[1] ? Said::has_gone : Said::nothing;
  }
  void let_go() {
    socket_ = LineSocket(Fd());
    life_.close();
  }

  /// One object, of which `members` names what it has. One that has gone is noticed when it is to
  /// ask again.
  void tell(const std::function<void(Archive&)>& members, int descriptor = -1) {
    (void)socket_.send(write_json(JsonLayout::compact, members), descriptor);
  }

 private:
  AskingProgram(LineSocket socket, ProcessId process, Fd life)
      : socket_(std::move(socket)), process_(process), life_(std::move(life)) {}

  LineSocket socket_;
  ProcessId process_;
  Fd life_;
};

/// The readings of each device that a question names, behind who it is; empty: it wants all. One
/// that only a newer berth knows is not in the answer.
std::vector<const Field*> fields_in(const Json& question) {
  std::vector<const Field*> asked;
  const auto named = question.find("fields");
  if (named == question.end() || !named->is_array()) return asked;
  for (const char* key : {"id", "index"}) asked.push_back(find_field(key));
  for (const Json& name : *named) {
    const Field* field =
        name.is_string() ? find_field(name.get_ref<const std::string&>()) : nullptr;
    if (field != nullptr && std::ranges::find(asked, field) == asked.end()) asked.push_back(field);
  }
  return asked;
}

void tell_placement(Archive& archive, const Placement& placement, const JobSpec& job,
                    const Snapshot& snapshot) {
  archive.object("placement",
                 [&] { write_placement(archive, placement, as_typed(job), snapshot); });
}

/// Each by its name and value, in this order.
void tell_variables(Archive& archive, const std::vector<Variable>& variables) {
  if (!archive.open("variables", true, Form::plain, nullptr)) return;
  archive.begin_list(variables.size());
  for (auto [name, value] : variables) {
    archive.next_item();
    put_row(archive, 2, name, value);
  }
  archive.end_list();
  archive.close();
}

/// What a program is asked for that is called `key` there; empty: nothing.
Result<JobSpec> job_in(const Json& question, const Context& context) {
  std::vector<std::string> typed(job_keys().size());
  const Json request = question.value("request", Json::object());
  for (const auto& [name, value] : request.items()) {
    const JobKey* key = find_job_key(name);
    if (key == nullptr || !value.is_string()) {
      return fail(ErrorCode::invalid, "this berth knows no \"{}\" of a request", name);
    }
    typed[static_cast<std::size_t>(key - job_keys().data())] = value.get<std::string>();
  }
  const Config config = context.config_of_job(::geteuid());
  if (!config.mistakes.empty()) return std::unexpected(config.mistakes.front());
  return job_of(typed, config);
}

class Helper {
 public:
  Helper(Context& context, AskingProgram program)
      : context_(context), program_(std::move(program)) {}

  int run() {
    program_.tell([](Archive& archive) {
      archive.derived("berth_helper", newest_protocol);
      archive.derived("oldest", oldest_protocol);
      archive.derived("version", std::string_view(BERTH_VERSION));
    });
    while (const auto line = program_.next_question()) {
      const Json question = parse_json(*line).value_or(Json());
      if (!question.is_object()) return exit_code::failed;
      take_variables(question);
      if (auto answered = answer(question); !answered) refuse(answered.error());
    }
    return exit_code::ok;
  }

 private:
  Result<void> answer(const Json& question) {
    const int protocol = question.value("protocol", 1);
    if (protocol < oldest_protocol || protocol > newest_protocol) {
      return fail(ErrorCode::unsupported,
                  "the library speaks protocol {}, and this berth {} speaks {} to {}: install both "
                  "from one release",
                  protocol, BERTH_VERSION, oldest_protocol, newest_protocol);
    }
    const std::string wanted = question.value("ask", "");
    if (wanted == "end") return {};  // of a lease that could not be recorded
    if (wanted == "look") return look(question);
    if (wanted == "pick") return pick(question);
    if (wanted == "lease") return lease(question);
    return fail(ErrorCode::unsupported,
                "the library asks for \"{}\", which this berth {} does not know", wanted,
                BERTH_VERSION);
  }

  /// The program may have set them since it started us.
  static void take_variables(const Json& question) {
    const Json variables = question.value("variables", Json::object());
    for (const auto& [name, value] : variables.items()) {
      if (value.is_string()) {
        ::setenv(name.c_str(), value.get_ref<const std::string&>().c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }

  Result<Snapshot> seen(const Wanted& wanted) {
    if (!live_) {
      auto live = Live::start(context_);
      if (!live) return std::unexpected(std::move(live).error());
      live_.emplace(*std::move(live));
    }
    return live_->look(wanted);
  }

  /// `visible`: what a program of these variables calls each device; null: it cannot be told.
  void tell_look(Archive& archive, const Snapshot& snapshot, FieldList asked) const {
    const auto told = numbers_in_program(
        visible_settings_in([&](const char* name) { return context_.variable(name); }), snapshot);
    archive.object("visible", [&] {
      for (const auto& [device, number] : told.numbers) archive.derived(device.text(), number);
    });
    archive.object("look", [&] { write_snapshot(archive, snapshot, Form::plain, asked); });
  }

  Result<void> look(const Json& question) {
    const std::vector<const Field*> asked = fields_in(question);
    const int depth = question.value("depth", 0);
    Wanted wanted =
        asked.empty() ? static_cast<Depth>(std::clamp(depth, 0, 3) + 1) : Depth::placement;
    for (const Field* field : asked) wanted.add(*field);
    auto snapshot = seen(wanted);
    if (!snapshot) return std::unexpected(std::move(snapshot).error());
    program_.tell([&](Archive& archive) { tell_look(archive, *snapshot, asked); });
    return {};
  }

  Result<void> pick(const Json& question) {
    const auto job = job_in(question, context_);
    if (!job) return std::unexpected(job.error());
    auto snapshot = seen(Depth::placement);
    if (!snapshot) return std::unexpected(std::move(snapshot).error());
    const auto found = considered(context_, *job, *std::move(snapshot));
    if (context_.ledger_error()) return std::unexpected(*context_.ledger_error());
    if (!found) return std::unexpected(found.error());
    program_.tell([&](Archive& archive) {
      tell_placement(archive, found->placement, *job, found->snapshot);
    });
    return {};
  }

  Result<void> lease(const Json& question) {
    const auto job = job_in(question, context_);
    if (!job) return std::unexpected(job.error());
    if (context_.replay()) return fail(ErrorCode::unsupported, "a recording has nothing to lease");
    if (job->isolate) {
      const Sentence why = sentence(
          "the lease of a running program closes no device file to it; `berth run --isolate` "
          "starts a program so");
      if (question.value("request", Json::object()).contains("isolate")) {
        return fail(ErrorCode::unsupported, why);
      }
      note(why.english());  // a file of the configuration wants it of all jobs
    }
    auto opened = context_.open_ledger();
    if (!opened) return std::unexpected(std::move(opened).error());
    Ledger ledger = *std::move(opened);
    ledger_ = &ledger;
    AcquireOptions options{.request = job->request};
    TakeSnapshot look = [this] { return seen(Wanted(Depth::placement).add(Extra::sleepers)); };
    if (limits_devices(visible_settings(context_))) {
      const auto snapshot = look();
      if (!snapshot) return std::unexpected(snapshot.error());
      auto limits = inherited_limits(context_, *snapshot);
      if (!limits) return std::unexpected(std::move(limits).error());
      options.limits = *std::move(limits);
    }
    auto inside = enter_outer_lease(ledger, context_.variable("BERTH_LEASE"), context_.clock(),
                                    options, look);
    if (!inside) return std::unexpected(std::move(inside).error());
    RunOptions run = run_options(*job);
    Manifest manifest = begin_manifest(run, services_of_runs(context_, ledger_));
    JobSpec held = run.job;
    // What a file asks of jobs must not refuse the programs that can only be watched.
    if (held.cap > CapTier::watchdog) held.cap.reset();
    auto cap = cap_of_running_program(held);
    if (!cap) return std::unexpected(std::move(cap).error());
    manifest.cap = *std::move(cap);
    set_claim_terms(manifest, *job, options);
    if (!*inside) options.policy = [this] { return context_.policy(); };
    const std::int64_t wait = question.value("wait_ms", std::int64_t{0});
    if (wait >= 0) options.wait = std::chrono::milliseconds(wait);
    options.on_news = [&](const WaitingNews& news) { tell_news(news, *job); };
    options.say = [&](const Sentence& said) { note(said.english()); };
    options.interrupted = [this] { return program_.has_had_enough(); };
    Ledger& within = *inside ? (*inside)->ledger : ledger;
    program_.interrupts_us(true);
    auto answer = acquire(within, look, context_.clock(), options);
    program_.interrupts_us(false);
    if (!answer) return std::unexpected(std::move(answer).error());
    if (auto* got = std::get_if<Acquired>(&*answer)) {
      if (*inside) manifest.inside = (*inside)->lease;
      note_given(*got, manifest);
      manifest.job = program_.process();
      return hand_over(*got, within, std::move(run), std::move(manifest), question);
    }
    refuse(std::get<NotAcquired>(*answer), *job);
    return {};
  }

  /// The program, as if it had been started as a job.
  [[nodiscard]] RunOptions run_options(const JobSpec& job) {
    RunOptions run;
    run.job = job;
    run.job.isolate = false;
    run.job.command = command_of(program_.process().pid);
    run.environment = context_.environment();
    run.working_directory = read_link("/proc/self/cwd").value_or("");
    run.state_directory = place_of_runs(context_).value_or("");
    return run;
  }

  /// From here on the descriptor in the other process is what keeps the lease.
  Result<void> hand_over(Acquired& got, const Ledger& ledger, RunOptions run, Manifest manifest,
                         const Json& question) {
    const JobSpec job = run.job;
    const std::string id = manifest.id;
    const std::string outer = manifest.inside.empty() ? "" : manifest.inside + "/";
    const std::vector<DeviceId> devices = devices_of(got.placement.chosen);
    auto variables = visible_variables(devices, VisibleFormat::indices, got.snapshot);
    auto described = got.lease.describe({.keeper = program_.process(), .job = program_.process()});
    if (!variables || !described || program_.has_had_enough()) {
      (void)got.lease.end(ledger);
      if (!variables) return std::unexpected(std::move(variables).error());
      return described;
    }
    for (auto& instead : variables_instead(devices, got.snapshot)) {
      variables->push_back(std::move(instead));
    }
    manifest.variables_set = *variables;
    manifest.variables = notable_variables(run.environment);
    variables->emplace_back("BERTH_RUN", id);
    variables->emplace_back("BERTH_LEASE", outer + got.lease.id());
    // PyTorch then asks NVML and not CUDA whether there is a device, and a later lease is not late.
    if (!context_.variable("PYTORCH_NVML_BASED_CUDA_CHECK")) {
      variables->emplace_back("PYTORCH_NVML_BASED_CUDA_CHECK", "1");
    }
    std::optional<AdoptedRun> record;
    if (question.value("record", false)) record = begin_record(std::move(run), std::move(manifest));
    if (record) variables->emplace_back("BERTH_MARKS", record->marks());
    program_.tell(
        [&](Archive& archive) {
          archive.object("lease", [&] {
            archive.derived("devices", devices);
            archive.derived("file", ledger.place().directory + "/" + got.lease.file());
            archive.derived("id", got.lease.id());
            archive.derived("inside", inside_directory(ledger, got.lease.id()));
            archive.derived("recorded", record.has_value());
            archive.derived("run", id);
            tell_variables(archive, *variables);
            archive.derived("waited_ms", got.waited.count());
          });
          tell_placement(archive, got.placement, job, got.snapshot);
          tell_look(archive, got.snapshot, fields_in(question));
        },
        got.lease.descriptor());
    got.lease.let_go();
    if (record) keep(*record);
    return {};
  }

  std::optional<AdoptedRun> begin_record(RunOptions run, Manifest manifest) {
    auto record =
        AdoptedRun::begin(std::move(run), services_of_runs(context_, ledger_), std::move(manifest));
    if (record) return *std::move(record);
    note(sentence("this lease is not recorded: {}", record.error().said()).english());
    return std::nullopt;
  }

  /// Until the program gives the lease back or ends.
  void keep(AdoptedRun& record) {
    live_.reset();  // its probe process; the sampler has one of its own
    std::error_code ignored;
    std::filesystem::current_path("/", ignored);  // so that no mount is kept busy
    record.start_sampler([this] { program_.let_go(); });
    while (true) {
      const auto said = program_.listen(record.descriptor(), record.patience());
      if (said == AskingProgram::Said::nothing) record.go_on();
      if (said == AskingProgram::Said::is_done) record.end(AdoptedRun::End::gave_back);
      if (said == AskingProgram::Said::has_gone) record.end(AdoptedRun::End::unknown);
      if (said != AskingProgram::Said::nothing) return;
    }
  }

  void refuse(const Error& error) {
    program_.tell([&](Archive& archive) {
      archive.object("error", [&] {
        archive.derived("code", name_of(error.code()));
        archive.derived("message", error.message());
      });
    });
  }

  void refuse(const NotAcquired& refusal, const JobSpec& job) {
    const bool never = refusal.why == NotAcquired::Why::never_possible;
    program_.tell([&](Archive& archive) {
      archive.derived("refused", std::string_view(never ? "never" : "none_free"));
      tell_placement(archive, refusal.placement, job, refusal.snapshot);
    });
  }

  void tell_news(const WaitingNews& news, const JobSpec& job) {
    program_.tell([&](Archive& archive) {
      archive.object("news", [&] {
        archive.derived("position", news.position);
        archive.derived("waited_ms", news.waited.count());
        tell_placement(archive, news.placement, job, news.snapshot);
      });
    });
  }

  void note(std::string_view text) {
    program_.tell([&](Archive& archive) { archive.derived("note", text); });
  }

  Context& context_;
  Ledger* ledger_ = nullptr;  // the machine's, while a lease is handed over and kept
  std::optional<Live> live_;
  AskingProgram program_;  // closed first: who asks on is to see that nobody answers
};

class HelperVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.value("--socket", socket_, "the descriptor of the socket to the program that asks",
                  "FD");
  }
  [[nodiscard]] bool decides_by_config() const override { return true; }

  int run(Context& context, const std::vector<std::string>&) override {
    const auto fd = parse_unsigned(socket_);
    if (!fd || *fd < 3) {
      complain(tr("helper: libberth starts this, and gives it a socket"));
      return exit_code::usage;
    }
    auto program = AskingProgram::open(static_cast<int>(*fd));
    if (!program) return report(program.error());
    (void)close_standard_streams();  // what was said there went to the asking program
    outlive(SIGPIPE);
    outlive(SIGIO);
    return Helper(context, *std::move(program)).run();
  }

 private:
  std::string socket_;
};

}  // namespace

std::unique_ptr<Verb> make_helper() { return std::make_unique<HelperVerb>(); }

}  // namespace berth
