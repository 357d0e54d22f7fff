#include "serve/fleet_report.h"

#include "base/sentence.h"

namespace berth::serve {

namespace {

struct Verdict {
  HostState state = HostState::unreachable;
  Sentence why;
  Sentence remedy;
};

Sentence remedy_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
      return sentence("is its name right? DNS or /etc/hosts must know it here");
    case ErrorCode::io:
      return sentence(
          "is berth serve running there, at an address that others can reach (--listen)?");
    case ErrorCode::timeout:
      return sentence("is the machine up, and is no firewall between?");
    case ErrorCode::no_permission:
      return sentence(
          "name the authority of its certificate (ca=FILE in the file of hosts). Ask it by the "
          "name in the certificate");
    case ErrorCode::unsupported:
      return sentence("does it speak HTTPS there? http://… asks without");
    case ErrorCode::invalid:
      return sentence("is that a berth? It serves at port 9700 unless told otherwise");
    case ErrorCode::busy:
      return sentence("it is asked again by itself");
  }
  return {};
}

Verdict verdict_of_failure(const Error& error) {
  Verdict verdict{
      .state = HostState::unreachable, .why = error.said(), .remedy = remedy_for(error.code())};
  switch (error.code()) {
    case ErrorCode::no_permission:
      verdict.state = HostState::refused;
      break;
    case ErrorCode::unsupported:
    case ErrorCode::invalid:
      verdict.state = HostState::incompatible;
      break;
    case ErrorCode::not_found:
    case ErrorCode::io:
    case ErrorCode::timeout:
    case ErrorCode::busy:
      break;
  }
  return verdict;
}

Verdict verdict_of_status(int status, bool with_token) {
  switch (status) {
    case 401:
      return with_token
                 ? Verdict{HostState::refused, sentence("it does not know the token"),
                           sentence(
                               "make a new one on it with berth token create, and put it into the "
                               "token_file")}
                 : Verdict{HostState::refused, sentence("it wants a token"),
                           sentence("make one on it with berth token create. Name the file that "
                                    "holds it (token_file=FILE in the file of hosts)")};
    case 403:
      return {HostState::refused, sentence("it does not let us in"),
              sentence("does a proxy stand before it?")};
    case 404:
      return {HostState::incompatible, sentence("there is no overview of berth's"),
              sentence("is that a berth? It serves at port 9700 unless told otherwise")};
    case 421:
      return {HostState::refused, sentence("it does not go by that name"),
              sentence("add the name to hosts in its serve.toml, or ask it by its own")};
    case 429:
      return {HostState::refused, sentence("it wants to be left alone for a while"),
              sentence("it is asked again by itself; is the token in the token_file right?")};
    case 502:
    case 503:
    case 504:
      return {HostState::unreachable, sentence("it has no answer yet"),
              sentence("it is asked again by itself")};
    default:
      break;
  }
  if (status >= 300 && status < 400) {
    return {HostState::incompatible, sentence("it sends us elsewhere (status {})", status),
            sentence("name the address where berth itself answers")};
  }
  return {HostState::incompatible, sentence("it answers with status {}", status),
          sentence("is that a berth? It serves at port 9700 unless told otherwise")};
}

/// It says of itself that it has not looked lately.
Verdict verdict_of_overview(const HostOverview& overview) {
  if (!overview.is_stale) return {HostState::ok, {}, {}};
  return {HostState::stale, sentence("its newest look at its devices is old"),
          sentence("a driver there may hang: berth health on it, or its log, say more")};
}

HostReport with(HostReport report, Verdict verdict) {
  report.state = verdict.state;
  report.why = std::move(verdict.why);
  report.remedy = std::move(verdict.remedy);
  return report;
}

/// Nobody answered: the first time that may be a moment's trouble.
HostReport without_answer(HostReport report, Verdict verdict) {
  const bool may_pass = verdict.state == HostState::unreachable && report.seen &&
                        !report.seen->is_stale && report.state == HostState::ok;
  if (may_pass) {
    verdict.state = HostState::stale;
  } else {
    report.seen.reset();
  }
  return with(std::move(report), std::move(verdict));
}

HostReport with_overview(HostReport report, HostOverview overview) {
  report.taken = overview.taken;
  Verdict verdict = verdict_of_overview(overview);
  report.seen = std::move(overview);
  return with(std::move(report), std::move(verdict));
}

}  // namespace

HostReport unasked(const FleetMember& member) {
  HostReport report;
  report.name = member.name;
  report.address = origin_of(member.url) + member.url.target;
  if (member.url.kind != Url::Kind::unix_socket) report.page = report.address + "/";
  report.state = HostState::stale;
  report.why = sentence("it has not been asked yet");
  return report;
}

HostReport report_after(const HostReport& before, const Result<HttpReply>& answer, WallTime asked,
                        bool with_token) {
  HostReport report = before;
  report.asked = asked;
  if (!answer) return without_answer(std::move(report), verdict_of_failure(answer.error()));
  if (answer->status == 304 && report.seen) {
    HostOverview same = *std::move(report.seen);
    return with_overview(std::move(report), std::move(same));
  }
  if (answer->status != 200) {
    return without_answer(std::move(report), verdict_of_status(answer->status, with_token));
  }
  auto overview = parse_overview(answer->body);
  if (overview) return with_overview(std::move(report), *std::move(overview));
  const bool is_newer = overview.error().code() == ErrorCode::unsupported;
  return without_answer(
      std::move(report),
      {HostState::incompatible, overview.error().said(),
       is_newer ? sentence("put the newer berth on this machine as well")
                : sentence("is that a berth? It serves at port 9700 unless told otherwise")});
}

HostReport report_without_token(const FleetMember& member, const Error& error) {
  return with(
      unasked(member),
      {HostState::refused, error.said(),
       sentence("the file holds what berth token create printed there, and berth may read it")});
}

}  // namespace berth::serve
