// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import RelayStore

extension RequestedPush {
  /// Returns `nil` for a request that asks for nothing but the defaults.
  init?(_ request: PushRequest) {
    guard let json = request.json else { return nil }
    guard request.isAsked else {
      self.init(json: json)
      return
    }
    let manner = request.manner
    self.init(
      json: json, kind: request.kind == .message ? nil : request.kind.rawValue, category: manner.category?.rawValue,
      collapse: manner.collapse == .message ? nil : manner.collapse.rawValue,
      level: request.level == .active ? nil : request.level.rawValue,
      style: request.style.map { String(decoding: $0, as: UTF8.self) })
  }
}
