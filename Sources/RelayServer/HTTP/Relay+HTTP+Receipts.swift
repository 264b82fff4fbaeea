// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol
import RelayPush
import RelayStore

/// Receipts of pushes, sent by an app's extension. It authenticates with the receipt of the push or with its report key.
extension Relay {
  static let receiptRoutes = [
    Route(
      "/v1/notifications/{id}/received",
      .openAt("POST", "id") { relay, request, id in try await relay.postReceived(request, id) })
  ]

  /// Bytes of a body: a receipt has 256 characters at most. The limit holds before the caller is known.
  static let maxReceiptBody = 1_024

  private func postReceived(_ request: HTTPRequest, _ id: String) async throws -> HTTPResponse {
    try request.checkContentType()
    guard request.body.count <= Self.maxReceiptBody else {
      throw RequestError(.tooLarge, "the body of a receipt is longer than \(Self.maxReceiptBody) bytes")
    }
    let now = hub.now
    if let reporter = try await reporter(request) {
      _ = try receipt(in: request)
      let handle = try await retain(reporter.user)
      defer { hub.release(handle) }
      try spend(.request, of: handle)
      try await check(id, isPushedTo: reporter)
    } else {
      let (fields, receipt) = try receipt(in: request)
      guard receipts.accepts(try fields.required("receipt", receipt), for: id, now: now) else {
        throw RequestError(
          .unauthorized, "this is not the receipt of the notification, or not any more", at: "/receipt")
      }
    }
    guard let received = try await store.write({ try $0.queue.received(id, now: now) }) else {
      throw RequestError(.notFound, "there is no such notification any more", at: "/path/id")
    }
    if received.isNews {
      for (message, _) in try await store.read({ try $0.queue.reported(by: id, limit: PushWorker.mostReported) }) {
        deliveries.reportPush(.onPhone, of: message, to: received.user, on: self)
      }
    }
    return .json(200) {
      $0["notification"] = id
      $0.integer("received", received.time.rawValue)
    }
  }

  private func receipt(in request: HTTPRequest) throws -> (fields: Fields, receipt: String?) {
    let fields = try parser.parse(request.body)
    return (fields, try fields.string("receipt", longest: 256))
  }
}
