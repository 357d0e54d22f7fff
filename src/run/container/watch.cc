#include "run/container/watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "base/sentence.h"
#include "base/signals.h"
#include "base/text.h"
#include "host_environment/environment.h"
#include "record/record_writer.h"
#include "run/memory_kills.h"
#include "run/tree.h"

namespace berth {

namespace {
constexpr Duration engine_answer_patience = std::chrono::seconds(20);
constexpr Duration patience_with_stop = std::chrono::seconds(5);
/// The run's end may wait for that.
constexpr Duration patience_with_image = std::chrono::seconds(5);
constexpr std::size_t most_of_answer = 1 << 20;

/// What is there to read, without waiting; false: its end.
bool read_some(int fd, std::string& into) {
  std::array<char, 16384> piece{};
  while (wait_readable({fd}, Duration(0)).front()) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got <= 0) return false;
    if (into.size() < most_of_answer) into.append(piece.data(), static_cast<std::size_t>(got));
  }
  return true;
}
}  // namespace

Result<void> EngineCall::start(const std::vector<std::string>& command,
                               const std::vector<std::string>& environment,
                               std::optional<Instant> deadline) {
  auto out = make_pipe();
  auto err = make_pipe();
  if (!out) return std::unexpected(std::move(out).error());
  if (!err) return std::unexpected(std::move(err).error());
  const pid_t keeper = ::getpid();
  const auto child = fork_process([&] {
    reset_signals();
    const auto tied = die_with_parent(keeper);
    if (!tied || !close_standard_streams()) return 127;
    if (::dup2(out->write.get(), 1) < 0 || ::dup2(err->write.get(), 2) < 0) return 127;
    const Error error = execute(command, environment, search_path_in(environment));
    (void)write_all(2, error.message());
    return 127;
  });
  if (!child) return std::unexpected(child.error());
  pid_ = *child;
  out_ = std::move(out->read);
  err_ = std::move(err->read);
  text_.clear();
  deadline_ = deadline;
  return {};
}

void EngineCall::hear() {
  if (out_.is_open() && !read_some(out_.get(), text_)) out_.close();
}

void EngineCall::end() {
  deadline_.reset();
  if (pid_ != 0) (void)signal_child(pid_, SIGKILL);
}

EngineCall::Answer EngineCall::take(const Exit& exit) {
  hear();
  Answer answer{.is_good = exit == Exit{}, .out = std::move(text_)};
  if (err_.is_open()) (void)read_some(err_.get(), answer.err);
  *this = EngineCall();
  return answer;
}

ContainerWatch::ContainerWatch(Terms terms, Told told, Clock& clock)
    : terms_(std::move(terms)),
      container_(terms_.container),
      told_(std::move(told)),
      clock_(clock),
      plan_(clock.now()) {
  if (!container_.id.empty()) step(ContainerMade{container_.id});
}

std::vector<int> ContainerWatch::descriptors() const {
  return {process_.get(), inspect_.descriptor(), wait_.descriptor(), act_.descriptor(),
          image_.descriptor()};
}

std::optional<Instant> ContainerWatch::next_deadline() const {
  std::optional<Instant> earliest = plan_.next_deadline();
  for (const EngineCall* call : {&inspect_, &wait_, &act_, &image_}) {
    const auto deadline = call->deadline();
    if (deadline && (!earliest || *deadline < *earliest)) earliest = deadline;
  }
  return earliest;
}

void ContainerWatch::hear(const std::vector<bool>& readable) {
  if (readable[1]) inspect_.hear();
  if (readable[2]) wait_.hear();
  if (readable[3]) act_.hear();
  if (readable[4]) image_.hear();
  if (!readable[0]) return;
  process_.close();
  take_memory_kills();
  step(ProcessGone{});
}

void ContainerWatch::pass_time() {
  const Instant now = clock_.now();
  for (EngineCall* call : {&inspect_, &wait_, &act_, &image_}) {
    if (call->deadline() && *call->deadline() <= now) call->end();
  }
  const auto due = plan_.next_deadline();
  if (due && *due <= now) step(WatchTimePassed{});
}

bool ContainerWatch::takes_end_of(pid_t child, const Exit& exit) {
  if (child == inspect_.pid()) {
    const auto answer = inspect_.take(exit);
    std::exchange(finds_, false) ? on_found(answer) : on_inspected(answer);
    return true;
  }
  if (child == wait_.pid()) {
    on_waited(wait_.take(exit));
    return true;
  }
  if (child == image_.pid()) {
    on_image(image_.take(exit));
    return true;
  }
  if (child != act_.pid()) return false;
  const auto answer = act_.take(exit);
  if (const auto grace = std::exchange(stop_next_, std::nullopt)) {
    if (plan_.may_live()) perform(StopContainer{*grace});
    return true;
  }
  if (answer.is_good || !plan_.may_live()) return true;
  if (!std::exchange(has_warned_, true)) {
    told_.note(
        {"container_not_stopped", sentence("{} could not signal or stop the container: {}",
                                           container_.engine, printable(trimmed(answer.err)))});
  }
  // The engine does not do it: the container's first process is known for certain.
  if (kills_ && container_.process) (void)send_signal(*container_.process, SIGKILL);
  return true;
}

void ContainerWatch::client_ended(const Exit& exit) { step(ClientEnded{exit}); }
void ContainerWatch::end_within(Duration grace) { step(EndWanted{grace}); }
void ContainerWatch::end_now() { step(KillWanted{}); }

void ContainerWatch::signal(int number) {
  if (act_.is_under_way() || !may_live()) return;
  kills_ = false;
  start(act_, {"kill", "--signal", std::to_string(number), container_.id}, engine_answer_patience);
}

void ContainerWatch::step(const WatchEvent& event) {
  for (const WatchAction& action : plan_.step(event, clock_.now())) {
    std::visit([this](const auto& one) { perform(one); }, action);
  }
}

void ContainerWatch::perform(const ReadContainerId&) {
  const bool is_absolute = container_.cid_file.starts_with('/');
  const std::string path =
      is_absolute ? container_.cid_file : terms_.working_directory + "/" + container_.cid_file;
  const auto text = read_file(path, 4096);
  const std::string id(text ? trimmed(*text) : std::string_view());
  if (!is_container_id(id)) return;
  container_.id = id;
  step(ContainerMade{id});
}

void ContainerWatch::start(EngineCall& call, std::vector<std::string> words,
                           std::optional<Duration> patience) {
  const auto started =
      call.start(engine_command(container_, std::move(words)), terms_.environment,
                 patience ? std::optional(clock_.now() + *patience) : std::nullopt);
  if (started || std::exchange(has_warned_, true)) return;
  told_.note({"engine_not_asked", started.error().said()});
}

void ContainerWatch::perform(const FindContainer&) {
  finds_ = true;
  start(inspect_,
        {"ps", "--all", "--quiet", "--no-trunc", "--filter",
         fmt::format("label={}={}", container_label, terms_.run)},
        engine_answer_patience);
  if (!inspect_.is_under_way()) on_found({});
}

void ContainerWatch::on_found(const EngineCall::Answer& answer) {
  const std::string_view id = trimmed(answer.out);
  container_.id = answer.is_good && is_container_id(id) ? id : "";
  step(ContainerMade{container_.id});
}

void ContainerWatch::perform(const InspectContainer&) {
  start(inspect_, {"container", "inspect", container_.id}, engine_answer_patience);
  if (!inspect_.is_under_way()) step(ContainerInspected{ContainerInspected::How::no_answer, {}});
}

void ContainerWatch::on_inspected(const EngineCall::Answer& answer) {
  using How = ContainerInspected::How;
  ContainerInspected news{.how = How::no_answer};
  if (answer.is_good) {
    auto list = parse_inspected(answer.out);
    if (list && list->size() == 1 && list->front().id == container_.id) {
      // A file of its own --cidfile may hold the id of another.
      const bool is_its = list->front().run == terms_.run;
      news = {.how = is_its ? How::found : How::gone};
      if (is_its) news.seen = list->front();
    }
  } else if (says_no_such_container(answer.err)) {
    news.how = How::gone;
  }
  step(news);
  if (news.how == How::found && !plan_.is_over()) ask_for_image();
}

/// docker and nerdctl tell no digest with a container.
void ContainerWatch::ask_for_image() {
  const bool is_known = container_.image_digest != Reading<std::string>(Absent::not_sampled);
  const std::string& name = container_.image_id.empty() ? container_.image : container_.image_id;
  if (is_known || image_.is_under_way() || container_.id.empty() || name.empty()) return;
  start(image_, {"image", "inspect", name}, patience_with_image);
  if (image_.is_under_way()) return;
  container_.image_digest = Absent::failed;
  perform(RecordContainer{});
}

void ContainerWatch::on_image(const EngineCall::Answer& answer) {
  const auto image = answer.is_good ? parse_inspected_image(answer.out, container_.image)
                                    : Result<InspectedImage>(fail(ErrorCode::io, ""));
  container_.image_digest = image ? image->digest : Absent::failed;
  if (image && container_.image_id.empty()) container_.image_id = image->id;
  perform(RecordContainer{});
  if (over_) tell_over(*over_);
}

/// The descriptor was opened first: what is read then is of that process.
std::optional<ProcessId> ContainerWatch::checked(pid_t pid, Fd& pidfd) const {
  auto opened = open_pidfd(pid);
  const auto process = identify_process(pid, terms_.proc);
  if (!opened || !process) return std::nullopt;
  const auto groups = read_proc_file(fmt::format("{}/{}/cgroup", terms_.proc, pid));
  bool is_its = groups && groups->find(container_.id) != std::string::npos;
  if (!is_its) {  // podman without control groups: a descendant of its client
    const auto tree = run_processes(terms_.keeper, terms_.proc);
    is_its = std::ranges::find(tree, *process) != tree.end();
  }
  if (!is_its) return std::nullopt;
  pidfd = *std::move(opened);
  return *process;
}

void ContainerWatch::perform(const FollowProcess& order) {
  Fd pidfd;
  container_.process = checked(order.pid, pidfd);
  if (container_.process) {
    process_ = std::move(pidfd);
    const auto groups = read_proc_file(fmt::format("{}/{}/cgroup", terms_.proc, order.pid));
    // Made for it alone: what is counted there is its own from the first on.
    const auto group = groups ? memory_group(*groups) : std::nullopt;
    const bool is_its = group && group->find(container_.id) != std::string::npos;
    auto memory = is_its ? open_fd(terms_.sys + "/fs/cgroup" + *group, O_RDONLY)
                         : Result<Fd>(fail(ErrorCode::unsupported, ""));
    memory_ = memory ? *std::move(memory) : Fd();
  }
  const bool is_followed = container_.process.has_value();
  step(ProcessFollowed{is_followed});
  if (is_followed && told_.followed) told_.followed();
}

/// The group goes with the container, some milliseconds after its last process.
void ContainerWatch::take_memory_kills() {
  if (!memory_.is_open()) return;
  const auto text = reread_proc_file(memory_.get());
  const auto kills = text ? oom_kills_in(*text) : std::nullopt;
  memory_.close();
  if (kills) container_.oom_killed = *kills > 0;
}

void ContainerWatch::perform(const WaitForContainer&) {
  if (!wait_.is_under_way()) start(wait_, {"wait", container_.id}, std::nullopt);
}

void ContainerWatch::on_waited(const EngineCall::Answer& answer) {
  if (plan_.is_over()) return;
  const std::string_view last = split(trimmed(answer.out), '\n').back();
  const auto code = answer.is_good ? parse_signed(last) : std::nullopt;
  // podman's looks every 250 ms, and misses one that --rm has removed meanwhile.
  if (!code && !std::exchange(reads_events_, true)) {
    const auto words = words_for_code_in_events(container_);
    if (!words.empty()) start(wait_, words, engine_answer_patience);
    if (wait_.is_under_way()) return;
  }
  reads_events_ = false;
  step(WaitEnded{code ? std::optional(static_cast<int>(*code)) : std::nullopt});
}

void ContainerWatch::perform(const StopContainer& order) {
  if (act_.is_under_way()) {
    // A signal that is being handed on must not cost the container its time to end.
    if (!kills_ && !stop_until_) stop_next_ = order.grace;
    return;
  }
  const auto whole =
      std::chrono::ceil<std::chrono::seconds>(std::max(order.grace, Duration(0))).count();
  kills_ = false;
  stop_until_ = clock_.now() + order.grace + patience_with_stop;
  start(act_, {"stop", "-t", std::to_string(whole), container_.id},
        order.grace + engine_answer_patience);
}

void ContainerWatch::perform(const KillContainer&) {
  if (act_.is_under_way()) {
    // The engine itself kills when its time is over. An engine that does not is given up, and the
    // next call comes in a second.
    if (!kills_ && stop_until_ && clock_.now() >= *stop_until_) act_.end();
    return;
  }
  kills_ = true;
  start(act_, {"kill", container_.id}, engine_answer_patience);
}

void ContainerWatch::perform(const RemoveContainer&) {
  if (act_.is_under_way()) return;
  // podman's container has a first process that waits for its start. Its parent has the id among
  // its words. Both descend from the client and have its lease. Both stay when the container is
  // removed.
  for (const ProcessId& process : run_processes(terms_.keeper, terms_.proc)) {
    const auto words = read_proc_file(fmt::format("{}/{}/cmdline", terms_.proc, process.pid));
    if (!words || words->find(container_.id) == std::string::npos) continue;
    signal_all(descendants_of(process.pid, terms_.proc), SIGKILL);
  }
  kills_ = false;
  start(act_, {"rm", container_.id}, engine_answer_patience);
}

void ContainerWatch::perform(const RecordContainer&) {
  if (const auto& seen = plan_.seen()) {
    container_.image = seen->image;
    if (!seen->image_id.empty()) container_.image_id = seen->image_id;
    if (!seen->image_digest.empty()) container_.image_digest = seen->image_digest;
    // An engine may say no too early of a container that was killed: podman 4.3.1 does. The count
    // is sure. A container that was removed at its end was last seen alive: that no says nothing.
    const auto& says = seen->oom_killed.get();
    const bool was_killed = plan_.code() == shell_exit_code({.signal = SIGKILL});
    const bool is_sure = !seen->is_running && !was_killed;
    const bool counts = says && (*says || (!container_.oom_killed.get() && is_sure));
    if (plan_.has_ended() && counts) container_.oom_killed = *says;
  }
  if (plan_.has_ended()) {
    if (!container_.ended) container_.ended = clock_.wall_now();
    if (plan_.code()) {
      container_.exit_code = *plan_.code();
    } else if (!container_.exit_code.get()) {
      container_.exit_code = Absent::unsupported;
    }
    if (!container_.oom_killed.get()) container_.oom_killed = Absent::unsupported;
  }
  (void)write_file_atomically(terms_.directory + "/" + std::string(record_file::container),
                              run_container_to_json(container_), 0600);
}

void ContainerWatch::perform(const TellRunsOn& order) {
  container_.is_left = true;
  perform(RecordContainer{});
  if (told_.runs_on) told_.runs_on(order.exit);
}

void ContainerWatch::perform(const RunOver& order) {
  if (wait_.is_under_way()) wait_.end();
  ask_for_image();
  over_ = order;
  if (!image_.is_under_way()) tell_over(order);
}

void ContainerWatch::tell_over(const RunOver& order) {
  if (container_.oom_killed.get().value_or(false)) {
    told_.note({"oom_kill",
                sentence("the kernel killed a process of the container for want of main memory")});
  }
  if (!order.exit && container_.id.empty()) {
    told_.note({"container_not_made",
                sentence("{} ended without an error, and no container of this run is there",
                         container_.engine)});
  }
  told_.over(order.exit);
}

}  // namespace berth
