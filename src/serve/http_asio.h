#pragma once
// The parts of Asio that http_*.cc share. No other file includes this.

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include "serve/http_loop.h"

namespace berth::serve {

namespace asio = boost::asio;
using ErrorOfAsio = boost::system::error_code;

struct Loop::Parts {
  asio::io_context context{1};
};

/// A connection, whatever kind of address it has.
using Socket = asio::generic::stream_protocol::socket;

}  // namespace berth::serve
