#pragma once
// libberth for C++17 and newer: berth.h with owners, units and results instead of handles and
// codes. Header-only, so that no type of the standard library crosses the library's border.
//
//   auto berth = berth::Berth::open();
//   auto lease = berth ? berth->acquire({}) : berth.error();      // one whole GPU
//   if (lease && lease->apply()) train_on_cuda_0();               // held until `lease` ends
//   else if (!lease) std::puts(lease.error().message().c_str());  // says what to do
//
// Berth and Wait are for one thread at a time. A Look or an Answer never changes: any thread.

#include <berth/berth.h>

#include <berth/values.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

namespace detail {

struct Free {
  void operator()(berth_error* it) const noexcept { berth_error_free(it); }
  void operator()(berth_context* it) const noexcept { berth_close(it); }
  void operator()(berth_look* it) const noexcept { berth_look_free(it); }
  void operator()(berth_answer* it) const noexcept { berth_answer_free(it); }
  void operator()(berth_lease* it) const noexcept { (void)berth_lease_free(it, nullptr); }
};
template <class Raw>
using Owned = std::unique_ptr<Raw, Free>;

/// What a call of C left behind.
inline Error error_of(berth_code code, berth_error* raw) {
  const Owned<berth_error> owned(raw);
  return Error(code, berth_error_message(raw));
}

inline const char* text_or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

}  // namespace detail

/// A device as a Look or a Lease has it. It owns its texts; an empty one says that there is none.
struct Device {
  std::optional<int> index;  ///< none: it is lost
  berth_state state;
  std::string id, name, pci, state_why, users;
  Reading<Bytes> memory_total, memory_used, memory_free;
  Reading<Milliwatts> power_draw;
  Reading<Celsius> temperature;
  Reading<Percent> utilization;  ///< the share of time in which any kernel ran
  std::optional<std::pair<int, int>> compute;
  std::optional<std::uint64_t> cuda_cores;
  std::optional<int> ordinal;  ///< cuda:N, xpu:N in this process; none: hidden, or not known
  bool memory_used_is_bound;   ///< at least so much is used (Intel)
  std::string kind;            ///< "nvidia-gpu", "amd-gpu"
  std::string torch_type;      ///< "cuda", "xpu": before PyTorch's number; empty: not known
};

struct Process {
  std::optional<std::size_t> device;  ///< its place in Look::devices()
  int pid;                            ///< as the driver tells it
  std::string user, command, run, container;
  Reading<Bytes> memory;
  bool is_mine;  ///< this process or one of its descendants
};

namespace detail {

template <class Unit, class Raw>
Reading<Unit> reading_of(const Raw& raw) {
  if (raw.absent != BERTH_PRESENT) return static_cast<berth_absent>(raw.absent);
  return Unit(raw.value);
}

template <class Number>
std::optional<Number> unless(bool is_none, Number value) {
  return is_none ? std::nullopt : std::optional<Number>(value);
}

template <class Raw>
Raw sized() {
  Raw raw{};
  raw.struct_size = sizeof(Raw);
  return raw;
}

inline Device device_of(const berth_device& raw) {
  return {
      unless<int>(raw.index < 0, raw.index),
      static_cast<berth_state>(raw.state),
      raw.id,
      raw.name,
      raw.pci,
      raw.state_why,
      raw.users,
      reading_of<Bytes>(raw.memory_total_bytes),
      reading_of<Bytes>(raw.memory_used_bytes),
      reading_of<Bytes>(raw.memory_free_bytes),
      reading_of<Milliwatts>(raw.power_draw_milliwatts),
      reading_of<Celsius>(raw.temperature_celsius),
      reading_of<Percent>(raw.utilization_percent),
      unless<std::pair<int, int>>(raw.compute_major == 0, {raw.compute_major, raw.compute_minor}),
      unless<std::uint64_t>(raw.cuda_cores == 0, raw.cuda_cores),
      unless<int>(raw.visible_ordinal < 0, raw.visible_ordinal),
      raw.memory_used_is_bound != 0,
      raw.kind != nullptr ? raw.kind : "",
      raw.torch_type != nullptr ? raw.torch_type : ""};
}

inline Process process_of(const berth_process& raw) {
  return {unless<std::size_t>(raw.device < 0, static_cast<std::size_t>(raw.device)),
          raw.pid,
          raw.user,
          raw.command,
          raw.run,
          raw.container,
          reading_of<Bytes>(raw.memory_bytes),
          raw.mine != 0};
}

/// All of a list that C gives one at a time.
template <class Raw, class Owner, class Ask, class Make>
auto all_of(const Owner* owner, std::size_t count, Ask ask, Make make) {
  std::vector<decltype(make(std::declval<const Raw&>()))> all;
  all.reserve(count);
  for (std::size_t at = 0; at < count; ++at) {
    Raw raw = sized<Raw>();
    if (ask(owner, at, &raw) == BERTH_OK) all.push_back(make(raw));
  }
  return all;
}

}  // namespace detail

/// One look at the machine. It never changes.
class Look {
 public:
  explicit Look(berth_look* raw) : raw_(raw) {}

  std::vector<Device> devices() const {
    return detail::all_of<berth_device>(raw_.get(), berth_look_devices(raw_.get()),
                                        berth_look_device, detail::device_of);
  }
  std::vector<Process> processes() const {
    return detail::all_of<berth_process>(raw_.get(), berth_look_processes(raw_.get()),
                                         berth_look_process, detail::process_of);
  }
  /// One field of all devices by its key in doc/METRICS.md, in its unit there.
  Result<std::vector<Reading<double>>> column(const std::string& key) const {
    const std::size_t count = berth_look_devices(raw_.get());
    std::vector<double> values(count);
    std::vector<std::uint8_t> absent(count);
    berth_error* error = nullptr;
    const berth_code code =
        berth_look_column(raw_.get(), key.c_str(), values.data(), absent.data(), count, &error);
    if (code != BERTH_OK) return detail::error_of(code, error);
    std::vector<Reading<double>> column;
    column.reserve(count);
    for (std::size_t at = 0; at < count; ++at) {
      if (absent[at] == BERTH_PRESENT) {
        column.emplace_back(values[at]);
      } else {
        column.emplace_back(static_cast<berth_absent>(absent[at]));
      }
    }
    return column;
  }
  std::chrono::milliseconds taken_since_1970() const {
    return std::chrono::milliseconds(berth_look_taken_unix_ms(raw_.get()));
  }
  /// As `berth status --json` prints it; it lives as long as the look.
  std::string_view json() const& { return berth_look_json(raw_.get()); }
  std::string json() && { return berth_look_json(raw_.get()); }

 private:
  detail::Owned<berth_look> raw_;
};

/// Which devices a request gets, or why none.
class Answer {
 public:
  explicit Answer(berth_answer* raw) : raw_(raw) {}
  bool is_satisfied() const { return berth_answer_satisfied(raw_.get()) != 0; }
  /// Whether the machine could ever give them.
  bool is_possible() const { return berth_answer_possible(raw_.get()) != 0; }
  /// As `berth pick --json` prints it; it lives as long as the answer.
  std::string_view json() const& { return berth_answer_json(raw_.get()); }
  std::string json() && { return berth_answer_json(raw_.get()); }

 private:
  detail::Owned<berth_answer> raw_;
};

/// Devices that are this process's until it ends or this object does. In a forked child the
/// object's end only forgets them.
class Lease {
 public:
  explicit Lease(berth_lease* raw) : raw_(raw) {}

  /// Each as it was when it was claimed.
  std::vector<Device> devices() const {
    return detail::all_of<berth_device>(raw_.get(), berth_lease_devices(raw_.get()),
                                        berth_lease_device, detail::device_of);
  }
  /// What a program needs in its environment to use them: name and value.
  std::vector<std::pair<std::string, std::string>> variables() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (std::size_t at = 0; at < berth_lease_variables(raw_.get()); ++at) {
      const char* value = nullptr;
      const char* name = berth_lease_variable(raw_.get(), at, &value);
      if (name != nullptr && value != nullptr) all.emplace_back(name, value);
    }
    return all;
  }
  /// Sets them here. Before other threads read the environment, and before CUDA starts, else
  /// BERTH_E_CUDA_STARTED and nothing is set.
  Result<void> apply() {
    berth_error* error = nullptr;
    const berth_code code = berth_lease_apply(raw_.get(), &error);
    if (code != BERTH_OK) return detail::error_of(code, error);
    return {};
  }
  /// For a program that is to keep the lease: it is close-on-exec here.
  int descriptor() const { return berth_lease_fd(raw_.get()); }
  std::string id() const { return berth_lease_id(raw_.get()); }
  std::string run() const { return berth_lease_run(raw_.get()); }

  /// Ends it now and says how that went. After a failure it still holds, and may be ended again.
  Result<void> release() {
    berth_lease* raw = raw_.release();
    berth_error* error = nullptr;
    const berth_code code = berth_lease_free(raw, &error);
    if (code == BERTH_OK) return {};
    raw_.reset(raw);
    return detail::error_of(code, error);
  }

 private:
  detail::Owned<berth_lease> raw_;
};

/// Where to look. Empty texts leave the choice to the library (berth.h, berth_options).
struct Options {
  std::string sim = {}, replay = {}, ledger = {}, helper = {};
  std::chrono::milliseconds max_age{0};  ///< of a look of `berth serve` that is taken; 0: 2 s
  std::uint32_t sources = 0;             ///< of berth_source; 0: both
  /// A sentence for people. It is called within calls of the library; what it throws goes no
  /// further.
  std::function<void(std::string_view)> on_note = {};
};

/// Which devices, as `berth run` takes them (berth.h, berth_request).
struct Request {
  int devices = 1;
  std::string memory = {};  ///< of each: "10G", "50%"; empty: whole devices, alone
  std::string only = {}, except = {}, prefer = {}, min_compute = {}, need = {}, idle_for = {};
  std::string name = {};    ///< of the run, for people
  bool record = false;      ///< with a record, as `berth run` has one
  bool after_init = false;  ///< once CUDA has started: among what it sees, setting nothing
  std::string kind = {};    ///< of which maker: "amd"; to be said where there are several
};

namespace detail {

/// A context and what it calls.
struct Context {
  std::function<void(std::string_view)> on_note;
  Owned<berth_context> raw;  // closed before what it calls ends
};

/// Leaves the queue before its context may close.
struct Leave {
  std::shared_ptr<Context> context;
  void operator()(berth_wait* it) const noexcept { berth_wait_free(it); }
};

inline void pass_note(void* user, const char* text) noexcept {
#if defined(__cpp_exceptions)
  try {
    static_cast<Context*>(user)->on_note(text);
  } catch (...) {  // it has heard the sentence, and the call goes on
  }
#else
  static_cast<Context*>(user)->on_note(text);
#endif
}

inline berth_request request_of(const Request& request) {
  berth_request raw = sized<berth_request>();
  raw.devices = request.devices;
  raw.memory = text_or_null(request.memory);
  raw.only = text_or_null(request.only);
  raw.except = text_or_null(request.except);
  raw.prefer = text_or_null(request.prefer);
  raw.min_compute = text_or_null(request.min_compute);
  raw.need = text_or_null(request.need);
  raw.idle_for = text_or_null(request.idle_for);
  raw.name = text_or_null(request.name);
  raw.record = request.record ? 1 : 0;
  raw.after_init = request.after_init ? 1 : 0;
  raw.kind = text_or_null(request.kind);
  return raw;
}

}  // namespace detail

/// A place in the queue, which ends with this object. It never blocks: poll descriptor() for
/// reading, then step().
class Wait {
 public:
  Wait(berth_wait* raw, std::shared_ptr<detail::Context> context)
      : raw_(raw, detail::Leave{std::move(context)}) {}

  int descriptor() const { return berth_wait_fd(raw_.get()); }
  /// The lease; nothing: poll on. BERTH_E_NONE_FREE: the time is over.
  Result<std::optional<Lease>> step() {
    berth_lease* lease = nullptr;
    berth_error* error = nullptr;
    const berth_code code = berth_wait_step(raw_.get(), &lease, &error);
    if (code != BERTH_OK) return detail::error_of(code, error);
    if (lease == nullptr) return std::optional<Lease>();
    return std::optional<Lease>(lease);
  }
  /// Leaves the queue: step() says BERTH_E_NOT_FOUND once others see that. The end of this object
  /// leaves it as well.
  Result<void> leave() {
    berth_error* error = nullptr;
    const berth_code code = berth_wait_leave(raw_.get(), &error);
    if (code != BERTH_OK) return detail::error_of(code, error);
    return {};
  }
  /// {"position", "waited_ms", "placement"}; "" before the first.
  std::string news_json() const { return berth_wait_news_json(raw_.get()); }

 private:
  std::unique_ptr<berth_wait, detail::Leave> raw_;
};

/// The library, opened.
class Berth {
 public:
  /// Starts nothing yet.
  static Result<Berth> open(Options options = {}) {
    auto context = std::make_shared<detail::Context>();
    berth_options raw = detail::sized<berth_options>();
    raw.sim = detail::text_or_null(options.sim);
    raw.replay = detail::text_or_null(options.replay);
    raw.ledger = detail::text_or_null(options.ledger);
    raw.helper = detail::text_or_null(options.helper);
    raw.max_age_ms = static_cast<std::uint32_t>(options.max_age.count());
    raw.sources = options.sources;
    if (options.on_note) {
      context->on_note = std::move(options.on_note);
      raw.on_note = detail::pass_note;
      raw.user = context.get();
    }
    berth_context* opened = nullptr;
    berth_error* error = nullptr;
    const berth_code code = berth_open(&raw, &opened, &error);
    if (code != BERTH_OK) return detail::error_of(code, error);
    context->raw.reset(opened);
    return Berth(std::move(context));
  }
  Berth(Berth&&) noexcept = default;
  Berth& operator=(Berth&&) noexcept = default;

  /// A look that is fresh enough. It may take as long as the card that hangs is waited for: 5 s.
  Result<Look> look(berth_depth depth = BERTH_STATE) {
    berth_look* look = nullptr;
    berth_error* error = nullptr;
    const berth_code code = berth_look_now(raw(), depth, &look, &error);
    if (code != BERTH_OK) return detail::error_of(code, error);
    return Look(look);
  }
  /// The same for an event loop: poll `descriptor` for reading, at most until `due`, then
  /// advance_look(). One at a time.
  struct UnderWay {
    int descriptor;
    std::chrono::milliseconds due;
  };
  Result<UnderWay> begin_look(berth_depth depth = BERTH_STATE) {
    return begun([&](int* descriptor, int* due, berth_error** error) {
      return berth_look_begin(raw(), depth, descriptor, due, error);
    });
  }
  /// The look; nothing: poll on, with the new `due`.
  Result<std::optional<Look>> advance_look(UnderWay& under_way) {
    return advanced<Look, berth_look>(under_way, berth_look_advance);
  }

  /// Which devices the request would get. Claims nothing.
  Result<Answer> pick(const Request& request) {
    const berth_request asked = detail::request_of(request);
    berth_answer* answer = nullptr;
    berth_error* error = nullptr;
    const berth_code code = berth_pick(raw(), &asked, &answer, &error);
    if (code != BERTH_OK) return detail::error_of(code, error);
    return Answer(answer);
  }
  /// The same for an event loop, as begin_look().
  Result<UnderWay> begin_pick(const Request& request) {
    const berth_request asked = detail::request_of(request);
    return begun([&](int* descriptor, int* due, berth_error** error) {
      return berth_pick_begin(raw(), &asked, descriptor, due, error);
    });
  }
  Result<std::optional<Answer>> advance_pick(UnderWay& under_way) {
    return advanced<Answer, berth_answer>(under_way, berth_pick_advance);
  }
  /// A lease now, or BERTH_E_NONE_FREE or BERTH_E_NEVER with the answer in `why_not`.
  Result<Lease> acquire(const Request& request, std::optional<Answer>* why_not = nullptr) {
    const berth_request asked = detail::request_of(request);
    berth_lease* lease = nullptr;
    berth_answer* answer = nullptr;
    berth_error* error = nullptr;
    const berth_code code =
        berth_acquire(raw(), &asked, &lease, why_not != nullptr ? &answer : nullptr, &error);
    if (answer != nullptr) why_not->emplace(answer);
    if (code != BERTH_OK) return detail::error_of(code, error);
    return Lease(lease);
  }
  /// A place in the queue, for at most `patience`; none: as long as it takes.
  Result<Wait> wait(const Request& request,
                    std::optional<std::chrono::milliseconds> patience = std::nullopt) {
    const berth_request asked = detail::request_of(request);
    berth_wait* wait = nullptr;
    berth_error* error = nullptr;
    const berth_code code =
        berth_wait_begin(raw(), &asked, patience ? patience->count() : -1, &wait, &error);
    if (code != BERTH_OK) return detail::error_of(code, error);
    return Wait(wait, context_);
  }

  /// The program that looks and claims for this library, if one was found.
  std::optional<std::string> program() {
    const char* found = berth_program(raw());
    return found != nullptr ? std::optional<std::string>(found) : std::nullopt;
  }

 private:
  explicit Berth(std::shared_ptr<detail::Context> context) : context_(std::move(context)) {}
  berth_context* raw() { return context_->raw.get(); }
  template <class Begin>
  Result<UnderWay> begun(Begin begin) {
    int descriptor = -1;
    int due = 0;
    berth_error* error = nullptr;
    const berth_code code = begin(&descriptor, &due, &error);
    if (code != BERTH_OK) return detail::error_of(code, error);
    return UnderWay{descriptor, std::chrono::milliseconds(due)};
  }
  template <class Owner, class Raw, class Advance>
  Result<std::optional<Owner>> advanced(UnderWay& under_way, Advance advance) {
    Raw* made = nullptr;
    int due = 0;
    berth_error* error = nullptr;
    const berth_code code = advance(raw(), &made, &due, &error);
    if (code != BERTH_OK) return detail::error_of(code, error);
    under_way.due = std::chrono::milliseconds(due);
    if (made == nullptr) return std::optional<Owner>();
    return std::optional<Owner>(made);
  }
  std::shared_ptr<detail::Context> context_;
};

/// Notes a line of progress in the run's record. BERTH_E_NOT_FOUND: this is no run.
inline Result<void> mark(const std::string& text) {
  berth_error* error = nullptr;
  const berth_code code = berth_mark(text.c_str(), &error);
  if (code != BERTH_OK) return detail::error_of(code, error);
  return {};
}

}  // namespace berth
