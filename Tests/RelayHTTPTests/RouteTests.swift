// SPDX-License-Identifier: Apache-2.0
import RelayHub
import Testing

@testable import RelayCommands
@testable import RelayHTTP

/// Path templates, and the table of routes.
struct RouteTests {
  @Test func `a path matches the template with the same parts`() {
    let template = PathTemplate("/v1/rooms/{room}/members/{user}")
    let match = { template.match(PathTemplate.split($0)) }
    #expect(match("/v1/rooms/tea/members/ann") == ["room": "tea", "user": "ann"])
    #expect(match("/v1/rooms//members/") == ["room": "", "user": ""])
    for path in ["", "/", "/v1/rooms/tea/members", "/v1/rooms/tea/members/ann/", "/v1/rooms/tea/devices/ann"] {
      #expect(match(path) == nil)
    }
  }

  @Test func `every route with GET has HEAD, and every route has OPTIONS`() {
    let get = Route.Action(method: "GET", work: .command(GetDevice.self))
    let put = Route.Action(method: "PUT", work: .command(RegisterDevice.self))
    #expect(Route("/x", [get, put]).methods == ["GET", "PUT", "HEAD", "OPTIONS"])
    #expect(Route("/x", [put]).methods == ["PUT", "OPTIONS"])
    #expect(Route("/x", [get]).action(for: "HEAD")?.method == "GET")
    #expect(Route("/x", [put]).action(for: "HEAD") == nil)
  }

  @Test func `no route is hidden by an earlier route`() {
    for route in HTTPService.routes {
      let path = PathTemplate.split(route.path.description)
      let first = HTTPService.routes.first { $0.path.match(path) != nil }
      #expect(first?.path.description == route.path.description)
    }
  }
}
