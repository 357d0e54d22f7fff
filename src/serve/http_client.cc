#include "serve/http_client.h"

#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <unordered_set>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "serve/dns_cache.h"

namespace berth::serve {

namespace {

using TlsContext = asio::ssl::context;
using SharedTls = std::shared_ptr<TlsContext>;
constexpr std::size_t piece = 16 << 10;

/// The places where systems keep the authorities they trust. OpenSSL as linked here knows Debian's
/// place alone.
constexpr std::array<const char*, 4> bundles = {"/etc/ssl/certs/ca-certificates.crt",
                                                "/etc/pki/tls/certs/ca-bundle.crt",
                                                "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

Result<SharedTls> open_client_tls(const ClientTls& files) {
  SharedTls tls;
  try {
    tls = std::make_shared<TlsContext>(TlsContext::tls_client);
  } catch (const std::exception& error) {  // OpenSSL's: no memory
    return fail(ErrorCode::io, "cannot use TLS: {}", error.what());
  }
  ErrorOfAsio error;
  tls->set_options(TlsContext::no_tlsv1 | TlsContext::no_tlsv1_1, error);
  tls->set_verify_mode(asio::ssl::verify_peer, error);
  const auto wrong = [&](const std::string& file) {
    return fail(ErrorCode::invalid, "cannot use {}: {}", file, error.message());
  };
  if (files.authority.empty()) {
    tls->set_default_verify_paths(error);
    for (const char* bundle : bundles) {
      if (!tls->load_verify_file(bundle, error)) break;
    }
  } else if (tls->load_verify_file(files.authority, error)) {
    return wrong(files.authority);
  }
  if (files.certificate.empty()) return tls;
  if (tls->use_certificate_chain_file(files.certificate, error)) return wrong(files.certificate);
  if (tls->use_private_key_file(files.key, TlsContext::pem, error)) return wrong(files.key);
  return tls;
}

/// A header of ours with a line break in it would be two.
bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

Result<std::string> head_of_call(const HttpCall& call) {
  std::string head;
  switch (call.method) {
    case Method::get:
      head = "GET ";
      break;
    case Method::head:
      head = "HEAD ";
      break;
    case Method::post:
      head = "POST ";
      break;
    case Method::options:
    case Method::other:
      return fail(ErrorCode::invalid, "only GET, HEAD and POST can be asked");
  }
  const bool is_local = call.url.kind == Url::Kind::unix_socket;
  head += call.url.target +
          " HTTP/1.1\r\nhost: " + (is_local ? call.url.host : host_and_port(call.url)) +
          "\r\nuser-agent: berth/" BERTH_VERSION
          "\r\naccept-encoding: gzip\r\nconnection: close\r\n";
  for (const auto& [name, value] : call.headers) {
    if (!is_one_line(name) || !is_one_line(value)) {
      return fail(ErrorCode::invalid, "the header {} has more than one line", printable(name));
    }
    head += name + ": " + value + "\r\n";
  }
  if (call.method == Method::post) {
    head += "content-length: " + std::to_string(call.body.size()) + "\r\n";
  }
  return head + "\r\n";
}

class Exchange;

}  // namespace

struct HttpClient::Parts {
  Parts(Loop& the_loop, Clock& clock) : loop(the_loop), names(the_loop, clock) {}
  Loop& loop;
  DnsCache names;
  std::map<ClientTls, SharedTls> contexts;
  std::unordered_set<Exchange*> all;

  Result<SharedTls> tls_for(const ClientTls& files) {
    const auto had = contexts.find(files);
    if (had != contexts.end()) return had->second;
    auto made = open_client_tls(files);
    if (made) contexts[files] = *made;
    return made;
  }
};

namespace {

/// One request and its answer. Each step's handler holds it; `done_` empty: it is over.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(HttpClient::Parts& parts, HttpCall call, HttpClient::Done done)
      : parts_(parts),
        call_(std::move(call)),
        done_(std::move(done)),
        socket_(parts.loop.parts().context),
        whole_(parts.loop.parts().context),
        step_(parts.loop.parts().context),
        reader_(call_.method, call_.most_bytes, call_.wanted) {
    parts_.all.insert(this);
  }

  void start() {
    if (!done_) return;
    auto head = head_of_call(call_);
    if (!head) return finish(std::unexpected(std::move(head).error()));
    sent_ = *std::move(head) + call_.body;
    whole_.expires_after(call_.patience);
    whole_.async_wait([self = shared_from_this()](const ErrorOfAsio& error) {
      if (!error) self->run_out(self->call_.patience);
    });
    if (call_.url.kind == Url::Kind::https) {
      auto context = parts_.tls_for(call_.tls);
      if (!context) return finish(std::unexpected(std::move(context).error()));
      context_ = *std::move(context);
    }
    if (call_.url.kind == Url::Kind::unix_socket) return connect_to_socket();
    parts_.names.find(call_.url.host, call_.url.port,
                      [self = shared_from_this()](const Result<std::vector<Endpoint>>& found) {
                        if (!self->done_) return;
                        if (!found) return self->finish(std::unexpected(found.error()));
                        self->endpoints_ = *found;
                        self->connect();
                      });
  }

  /// Ends without a word.
  void drop() {
    done_ = nullptr;
    release();
  }

 private:
  [[nodiscard]] std::string whom() const { return host_and_port(call_.url); }

  void finish(Result<HttpReply> result) {
    if (!done_) return;
    const auto done = std::exchange(done_, nullptr);
    release();
    done(std::move(result));
  }

  void release() {
    parts_.all.erase(this);
    whole_.cancel();
    step_.cancel();
    ErrorOfAsio ignored;
    socket_.close(ignored);
  }

  void run_out(Duration patience) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
    finish(fail(ErrorCode::timeout, "{} does not answer within {} s", whom(),
                static_cast<double>(ms.count()) / 1000));
  }

  void connect_to_socket() {
    if (call_.url.socket.size() >= sizeof(sockaddr_un{}.sun_path)) {
      return finish(fail(ErrorCode::invalid, "{} is longer than a socket's path may be", whom()));
    }
    endpoints_ = {asio::local::stream_protocol::endpoint(call_.url.socket)};
    connect();
  }

  /// Tries addresses one after the other, each with its share of the time. So an address that
  /// swallows packets does not keep the next from being tried.
  void connect() {
    ErrorOfAsio ignored;
    socket_.close(ignored);
    const std::size_t number = tried_++;
    is_connecting_ = true;
    limit_step(call_.patience_to_connect / static_cast<int>(endpoints_.size()));
    socket_.async_connect(endpoints_[number], [self =
                                                   shared_from_this()](const ErrorOfAsio& error) {
      if (!self->done_) return;
      self->step_.cancel();
      self->is_connecting_ = false;
      if (!error) return self->connected();
      if (self->tried_ < self->endpoints_.size()) return self->connect();
      if (error == asio::error::operation_aborted) {
        return self->run_out(self->call_.patience_to_connect);
      }
      self->finish(fail(ErrorCode::io, "cannot connect to {}: {}", self->whom(), error.message()));
    });
  }

  /// Closing is what ends a step that takes too long.
  void limit_step(Duration patience) {
    step_.expires_after(patience);
    step_.async_wait([self = shared_from_this(), number = ++steps_](const ErrorOfAsio& error) {
      // One that ran out while the next began has nothing to say of that.
      if (error || !self->done_ || number != self->steps_) return;
      if (self->is_connecting_) {
        ErrorOfAsio ignored;
        self->socket_.close(ignored);
      } else if (self->is_greeting_) {
        self->run_out(self->call_.patience_to_connect);
      }
    });
  }

  void connected() {
    if (!context_) return write();
    tls_.emplace(socket_, *context_);
    ::SSL* ssl = tls_->native_handle();
    X509_VERIFY_PARAM* wanted = ::SSL_get0_param(ssl);
    ::X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (::X509_VERIFY_PARAM_set1_ip_asc(wanted, call_.url.host.c_str()) != 1) {
      ::X509_VERIFY_PARAM_set1_host(wanted, call_.url.host.c_str(), 0);
      // Which certificate is wanted where one address has several names.
      ::SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 const_cast<char*>(call_.url.host.c_str()));
    }
    is_greeting_ = true;
    limit_step(call_.patience_to_connect);
    tls_->async_handshake(asio::ssl::stream_base::client,
                          [self = shared_from_this()](const ErrorOfAsio& error) {
                            self->step_.cancel();
                            self->is_greeting_ = false;
                            if (!self->done_) return;
                            error ? self->refuse_tls(error) : self->write();
                          });
  }

  void refuse_tls(const ErrorOfAsio& error) {
    const long verdict = ::SSL_get_verify_result(tls_->native_handle());
    if (verdict != X509_V_OK) {
      return finish(fail(ErrorCode::no_permission, "the certificate of {} is not trusted: {}",
                         whom(), ::X509_verify_cert_error_string(verdict)));
    }
    finish(
        fail(ErrorCode::unsupported, "{} speaks no TLS with berth: {}", whom(), error.message()));
  }

  template <class Act>
  void on_stream(Act act) {
    tls_ ? act(*tls_) : act(socket_);
  }

  void write() {
    on_stream([this](auto& stream) {
      asio::async_write(stream, asio::buffer(sent_),
                        [self = shared_from_this()](const ErrorOfAsio&, std::size_t) {
                          // A server may refuse a request before all of it has come. It has still
                          // answered: reading tells.
                          if (self->done_) self->read();
                        });
    });
  }

  void read() {
    on_stream([this](auto& stream) {
      stream.async_read_some(
          asio::buffer(buffer_.data(), buffer_.size()),
          [self = shared_from_this()](const ErrorOfAsio& error, std::size_t got) {
            if (self->done_) self->received(error, got);
          });
    });
  }

  void received(const ErrorOfAsio& error, std::size_t got) {
    const auto whole = reader_.feed({buffer_.data(), got});
    if (!whole) return finish(std::unexpected(Error(whole.error()).at(whom())));
    if (!*whole && !error) return read();
    // Over TLS only a proper goodbye shows that nobody cut the answer short.
    const bool ended = error == asio::error::eof;
    if (!*whole && !ended) {
      return finish(
          fail(ErrorCode::io, "the connection to {} was lost: {}", whom(), error.message()));
    }
    if (const auto end = reader_.end(); !end) {
      return finish(std::unexpected(Error(end.error()).at(whom())));
    }
    auto reply = reader_.take();
    if (!reply) return finish(std::unexpected(std::move(reply).error().at(whom())));
    finish(std::move(reply));
  }

  HttpClient::Parts& parts_;  // outlives `done_`
  HttpCall call_;
  HttpClient::Done done_;
  std::string sent_;
  SharedTls context_;  // null: without TLS
  Socket socket_;
  std::optional<asio::ssl::stream<Socket&>> tls_;
  asio::steady_timer whole_;
  asio::steady_timer step_;
  std::vector<Endpoint> endpoints_;
  std::size_t tried_ = 0;
  std::size_t steps_ = 0;  // each limit that was set
  bool is_connecting_ = false;
  bool is_greeting_ = false;
  ReadBlock<piece> buffer_;
  ReplyReader reader_;
};

}  // namespace

HttpClient::HttpClient(Loop& loop, Clock& clock) : parts_(std::make_unique<Parts>(loop, clock)) {}

HttpClient::~HttpClient() {
  const auto left = std::exchange(parts_->all, {});
  for (Exchange* exchange : left) exchange->drop();
}

void HttpClient::ask(HttpCall call, Done done) {
  auto exchange = std::make_shared<Exchange>(*parts_, std::move(call), std::move(done));
  parts_->loop.post([exchange = std::move(exchange)] { exchange->start(); });
}

void HttpClient::forget_certificates() { parts_->contexts.clear(); }

std::size_t HttpClient::under_way() const { return parts_->all.size(); }

Result<HttpReply> ask_and_wait(HttpCall call, Clock& clock) {
  Loop loop;
  HttpClient client(loop, clock);
  Result<HttpReply> reply = fail(ErrorCode::timeout, "nothing was answered");
  client.ask(std::move(call), [&](Result<HttpReply> answer) {
    reply = std::move(answer);
    loop.stop();
  });
  loop.run();
  return reply;
}

}  // namespace berth::serve
