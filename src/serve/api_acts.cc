// Acting: becoming known by a link, ending the run that holds a lease, signalling a process. For
// their owner and for administrators; what the daemon itself may not do is said as that.

#include <algorithm>
#include <array>
#include <csignal>

#include "base/text.h"
#include "serve/api_json.h"
#include "serve/sign_in.h"
#include "snapshot/questions.h"

namespace berth::serve {

namespace {

std::optional<HttpResponse> refused_as_foreign(const Question& question) {
  if (header_of(question.request, "x-berth") == "1") return std::nullopt;
  return error_response(403, "no_x_berth", "the header X-Berth is missing",
                        "send X-Berth: 1: it tells that no foreign page asks");
}

std::optional<HttpResponse> refused(const Question& question) {
  if (auto foreign = refused_as_foreign(question)) return foreign;
  if (!question.principal.is_known()) {
    HttpResponse response = error_response(401, "token_wanted", "who asks is not known here",
                                           "use the Unix socket, or a token: berth token create");
    response.headers = {{"www-authenticate", "Bearer"}};
    return response;
  }
  if (question.context.acts == nullptr) {
    return error_response(403, "read_only", "this server only shows", "");
  }
  return std::nullopt;
}

HttpResponse not_yours(std::string_view what) {
  return error_response(403, "not_yours", std::string(what) + " is another user's",
                        "only they and administrators may do that");
}

/// In whose name it is done: an administrator's acts are the daemon's own.
std::optional<uid_t> name_of_act(const Principal& principal) {
  return principal.admin ? std::nullopt : principal.uid;
}

struct SignalName {
  std::string_view name;
  int number;
};
constexpr auto signal_names = std::to_array<SignalName>({{"TERM", SIGTERM},
                                                         {"INT", SIGINT},
                                                         {"HUP", SIGHUP},
                                                         {"QUIT", SIGQUIT},
                                                         {"KILL", SIGKILL},
                                                         {"STOP", SIGSTOP},
                                                         {"CONT", SIGCONT},
                                                         {"USR1", SIGUSR1},
                                                         {"USR2", SIGUSR2}});

struct ActRequest {
  int signal = 0;
  std::uint64_t start_ticks = 0;
};

/// Nothing: it is not {"signal": a name, "start_ticks": a number}.
std::optional<ActRequest> act_in(std::string_view body) {
  std::string name;
  ActRequest act;
  const auto read = read_json(body, [&](Archive& archive) {
    archive.member("signal", name, Form::required);
    archive.member("start_ticks", act.start_ticks, Form::required);
  });
  const auto known = std::ranges::find(signal_names, name, &SignalName::name);
  if (!read || known == signal_names.end()) return std::nullopt;
  act.signal = known->number;
  return act;
}

bool is_on_a_device(pid_t pid, const Snapshot& snapshot) {
  for (const GpuProcess& use : snapshot.gpu_processes) {
    if (use.pid == pid) return true;
  }
  return false;
}

}  // namespace

HttpResponse answer_release(const Question& question) {
  if (auto refusal = refused(question)) return *refusal;
  const Claim* found = nullptr;
  for (const Claim& claim : question.context.snapshot->claims) {
    if (claim.id == question.id) found = &claim;
  }
  if (found == nullptr) return no_such("lease", question.id);
  if (!may_act_for(question.principal, found->uid)) return not_yours("this lease");
  const auto ended = question.context.acts->release(*found, name_of_act(question.principal));
  if (!ended) return error_response(ended.error());
  return json_answer([&](Archive& archive) {
    archive.derived("lease", found->id);
    archive.derived("run", found->run);
    archive.derived("end", *ended);
  });
}

HttpResponse answer_signal(const Question& question) {
  if (auto refusal = refused(question)) return *refusal;
  const auto act = act_in(question.request.body);
  if (!act || act->start_ticks == 0) {
    return error_response(400, "bad_body", "this is no signal",
                          "{\"signal\":\"TERM\",\"start_ticks\":N}; N as the process is listed");
  }
  const Snapshot& snapshot = *question.context.snapshot;
  const auto pid = parse_unsigned(question.id);
  const HostProcess* process =
      pid && *pid > 1 && *pid < (1U << 30) && is_on_a_device(static_cast<pid_t>(*pid), snapshot)
          ? find_process(static_cast<pid_t>(*pid), snapshot)
          : nullptr;
  if (process == nullptr) return no_such("process on a device with the number", question.id);
  if (snapshot.simulated) {
    return error_response(403, "simulated", "this process is simulated: there is none to signal",
                          "");
  }
  if (!may_act_for(question.principal, process->uid.get())) return not_yours("this process");
  if (process->id.start_ticks != act->start_ticks) {
    return error_response(404, "not_found", "that process has ended; its number is another's now",
                          "look again");
  }
  const auto sent =
      question.context.acts->signal({.pid = process->id.pid, .start_ticks = act->start_ticks},
                                    act->signal, name_of_act(question.principal));
  if (!sent) return error_response(sent.error());
  return json_answer([&](Archive& archive) {
    archive.derived("pid", process->id.pid);
    archive.derived("sent", true);
  });
}

HttpResponse answer_sign_in(const Question& question) {
  if (auto foreign = refused_as_foreign(question)) return *foreign;
  std::string link;
  const auto read = read_json(question.request.body, [&](Archive& archive) {
    archive.member("link", link, Form::required);
  });
  if (!read || question.context.sign_in == nullptr) {
    return error_response(400, "bad_body", "this is no link", "{\"link\":\"berth_…\"}");
  }
  const auto given = question.context.sign_in->redeem(link, question.context.now);
  if (!given) {
    return error_response(403, "link_over", given.error().message(),
                          "berth serve --link prints another, run by the same user");
  }
  return json_answer([&](Archive& archive) {
    archive.derived("token", given->secret);
    archive.derived("expires_unix_ms", given->expires);
  });
}

HttpResponse answer_sign_in_link(const Question& question) {
  if (auto foreign = refused_as_foreign(question)) return *foreign;
  if (!question.principal.is_on_this_machine() || question.context.sign_in == nullptr) {
    return error_response(403, "only_here", "a link is made at this server's Unix socket alone",
                          "berth serve --link asks there");
  }
  const auto link =
      question.context.sign_in->make_link(*question.principal.uid, question.context.now);
  if (!link) return error_response(link.error());
  return json_answer([&](Archive& archive) {
    archive.derived(
        "url", question.context.sign_in->page() + std::string(sign_in_fragment) + link->secret);
    archive.derived("expires_unix_ms", link->expires);
  });
}

}  // namespace berth::serve
