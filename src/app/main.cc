// berth: the program. Names every verb, finds the one asked for, reports what was thrown.

#include <malloc.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "app/command_line.h"
#include "app/context.h"
#include "app/verb.h"
#include "base/memory_limit.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/tr.h"

namespace berth {

namespace {
constexpr std::string_view used_most = as_key("Used most");
constexpr std::string_view see = as_key("See");
constexpr std::string_view place_and_run = as_key("Place and run");
constexpr std::string_view look_back = as_key("Look back");
constexpr std::string_view serve_and_set_up = as_key("Serve and set up");
constexpr std::string_view for_programs;

constexpr auto all_verbs = std::to_array<VerbEntry>({
    {used_most, "status", "every device and who is on it (also plain `berth`)",
     "berth\nberth -w -u $USER", make_status, FirstAct::look},
    {used_most, "top", "the devices and their processes as they move; signals, charts",
     "berth top\nberth top -u $USER -t", make_top},
    {used_most, "run", "run a command on the right device, or on a share of one",
     "berth run -- python train.py\nberth run -n 2 --wait=2h -- python train.py", make_run},
    {used_most, "explain", "why a GPU is not busy, why a run died, what a log's errors mean",
     "berth explain 3\nberth explain last", make_explain},
    {used_most, "doctor", "why programs do not see a GPU, and what to do about it",
     "berth doctor\nberth doctor --fix", make_doctor},
    {see, "ps", "every process on the devices, and who holds what unseen", "berth ps\nberth ps -t",
     make_ps, FirstAct::look},
    {see, "health", "how well each device is, for people, monitoring and node checks",
     "berth health\nberth health --json", make_health, FirstAct::look},
    {see, "smi", "what nvidia-smi shows, in its formats",
     "berth smi -L\nberth smi --query-gpu=index,memory.used --format=csv", make_smi,
     FirstAct::look},
    {see, "gpustat", "what gpustat shows, in its format", "berth gpustat -cp\nberth gpustat --json",
     make_gpustat, FirstAct::look},
    {see, "spec", "what a card is, present or not: memory, rates, what it lacks",
     "berth spec h100\nberth spec --list", make_spec},
    {see, "scenarios", "the built-in simulated servers", "berth scenarios\nberth top --sim lab-4",
     make_scenarios},
    {place_and_run, "submit", "hand a job to Slurm, and look after it as after any run",
     "berth submit -- python train.py\nberth submit -n 2 --time 8h -- python train.py",
     make_submit},
    {place_and_run, "pick", "say which devices a job would get; claims nothing",
     "berth pick -n 2\ngpu=$(berth pick --format env) && eval \"$gpu\"", make_pick, FirstAct::look},
    {place_and_run, "isolate", "whether `run --isolate` works here, and what it costs",
     "berth isolate\nberth isolate --check", make_isolate},
    {place_and_run, "leases", "who holds what, and who waits", "berth leases\nberth leases --json",
     make_leases},
    {place_and_run, "sweep", "one run for each point of a grid of parameters",
     "berth sweep --set seed=1..3 -- python train.py --seed {seed}\nberth sweep --set lr=0.1,0.01 "
     "--set seed=1..3 -- ./train {lr} {seed}",
     make_sweep},
    {place_and_run, "reserve", "hold devices for a while, without a job",
     "berth reserve --for 4h\nberth reserve -n 2 --for 4h --at 18:00", make_reserve},
    {place_and_run, "release", "end a reservation, or take one back that is to begin",
     "berth release last\nberth release at-1a2b3c4d", make_release},
    {place_and_run, "claim", "take a job of yours that was started by hand into the ledger",
     "berth claim 12345\nberth claim 12345 --memory 20G", make_claim},
    {place_and_run, "extend", "give a reservation or a run more time",
     "berth extend last --for 2h\nberth extend RUN --for 30m", make_extend},
    {place_and_run, "exec", "run a command on devices that one holds",
     "berth exec last -- python try.py\nberth exec -n 1 last -- bash", make_exec},
    {place_and_run, "topo", "how the devices are linked, and which go together",
     "berth topo\nberth topo -n 4", make_topo},
    {place_and_run, "queue", "who waits, why, and when each starts",
     "berth queue\nberth queue --json", make_queue},
    {place_and_run, "idle", "what is held and not used, by whom, since when",
     "berth idle\nberth idle --json", make_idle},
    {place_and_run, "reap", "tell who holds devices idle, and end that, as the policy says",
     "berth reap\nsudo berth reap --act", make_reap},
    {place_and_run, "runs", "past and present runs", "berth runs\nberth runs -n 100", make_runs},
    {place_and_run, "show", "what one run was given, did and used",
     "berth show last\nberth show last --json", make_show},
    {place_and_run, "logs", "the output of a detached run", "berth logs -f\nberth logs last",
     make_logs},
    {place_and_run, "wait", "wait for a run and exit as it did",
     "berth wait last\nberth wait last && python evaluate.py", make_wait},
    {place_and_run, "stop", "end a run and everything it started",
     "berth stop last\nberth stop --all", make_stop},
    {place_and_run, "mark", "note a job's progress in its record",
     "berth mark epoch=3 loss=0.21\nberth mark \"evaluation begins\"", make_mark},
    {place_and_run, "fit", "on which cards a model fits, here or anywhere",
     "berth fit 7B --train adam --dtype bf16\nberth fit ./model --context 32k --all", make_fit},
    {place_and_run, "recipes", "small PyTorch programs to copy: memory, speed, checkpoints",
     "berth recipes\nberth recipes copy all", make_recipes},
    {look_back, "report", "one file about a run, or runs side by side: charts, findings",
     "berth report last\nberth report last --md", make_report},
    {look_back, "manifest", "the hardware and software of here and now, and what differs",
     "berth manifest\nberth manifest diff last now", make_manifest},
    {look_back, "history", "what the devices did and who had them, over weeks",
     "berth history\nberth history --gpu 3 --since 7d", make_history},
    {look_back, "usage", "GPU hours, energy and waits by user, job, GPU or day",
     "berth usage\nberth usage --by job --since 30d", make_usage},
    {look_back, "record", "write down what the devices do, for --replay",
     "berth record night.jsonl\nberth record --for 10m -d 500ms -", make_record},
    {serve_and_set_up, "serve", "show it all to browsers, programs and Prometheus",
     "berth serve\nberth serve --join gpu2,gpu3", make_serve},
    {serve_and_set_up, "alert", "alerts: the rules, what is active, and who is notified",
     "berth alert\nberth alert rules", make_alert},
    {serve_and_set_up, "token", "manage access tokens for `berth serve`",
     "berth token list\nberth token create ana --expires 90d", make_token},
    {serve_and_set_up, "service", "have systemd run `berth serve`",
     "sudo berth service install\nberth service install --user", make_service},
    {serve_and_set_up, "setup", "make the ledger that all users share (root)",
     "sudo berth setup\nberth setup --dry-run", make_setup},
    {serve_and_set_up, "config", "what is in force where nothing is typed, and who said it",
     "berth config\nberth config --origin", make_config},
    {serve_and_set_up, "policy", "the rules of this machine in plain words, and what they allow",
     "berth policy show\nberth policy test alice -- -n 4 --time 2h", make_policy},
    {serve_and_set_up, "support", "one file for a bug report, secrets masked, shown first",
     "berth support\nberth support -o report.txt --log last", make_support},
    {serve_and_set_up, "demo", "a guided look, on this machine or a simulated one",
     "berth demo\nberth demo --lang zh_CN", make_demo},
    {for_programs, "ranks", "for berth run --ddp, which starts it", "", make_ranks},
    {for_programs, "helper", "for programs with libberth, which start it", "", make_helper},
});
constexpr const auto* end_for_people =
    std::ranges::find(all_verbs, for_programs, &VerbEntry::group);
static_assert(std::ranges::count(end_for_people, all_verbs.end(), for_programs,
                                 &VerbEntry::group) == all_verbs.end() - end_for_people,
              "verbs for programs stand behind all others");
}  // namespace

std::span<const VerbEntry> known_verbs() { return all_verbs; }
std::span<const VerbEntry> verbs() { return {all_verbs.begin(), end_for_people}; }

namespace {
/// The words behind the program's name. Through a link called nvidia-smi or gpustat the verb of
/// that name comes first.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string called = argc > 0 ? argv[0] : "berth";
  const std::string name = called.substr(called.rfind('/') + 1);
  if (name == "nvidia-smi") words.insert(words.begin(), "smi");
  if (name == "gpustat") words.insert(words.begin(), "gpustat");
  return words;
}
}  // namespace

}  // namespace berth

// OpenSSL asks what the processor can do at the start of each program. It asks again before its
// first use, and that is soon enough. One call takes 50 µs in a virtual machine (AMD EPYC,
// 2026-11-23).
extern "C" {
void __real_OPENSSL_cpuid_setup();
void __wrap_OPENSSL_cpuid_setup() {
  static bool is_used = false;
  if (std::exchange(is_used, true)) __real_OPENSSL_cpuid_setup();
}
}

int main(int argc, char** argv) {
  // This asks the kernel for memory in large pieces and keeps them. Small pieces, given back in
  // between, cost a short-lived program more than the memory is worth.
  ::mallopt(M_TOP_PAD, 256 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  // A file that may grow no further is an error to tell, as a full disk is.
  berth::outlive(SIGXFSZ);
  berth::end_with_words_where_memory_runs_out(berth::exit_code::berth_failed);
  try {
    berth::Context context;
    const int code = berth::run_command_line(context, berth::words_of(argc, argv));
    const bool is_written = berth::finish_output();
    // Nothing is taken down that ends with the process anyway: that takes as long as printing.
    berth::end_process_now(is_written || code != 0 ? code : berth::exit_code::failed);
  } catch (const std::bad_alloc&) {
    berth::complain(berth::memory_ran_out());
    return berth::exit_code::berth_failed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "berth: bug: unexpected exception: %s\n", error.what());
    return berth::exit_code::berth_failed;
  }
}
