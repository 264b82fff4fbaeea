// SPDX-License-Identifier: Apache-2.0
package import RelayJSON

/// The relay's reply to a registration of a device.
public struct DeviceRegistration: Equatable, Sendable {
  /// A field that the relay stores but does not use, because its configuration lacks something.
  public struct Warning: Equatable, Sendable, CustomStringConvertible {
    /// For example `no_voip_entitlement`: the relay's entry of the app has no entitlement `voip`, so that calls come as
    /// alerts.
    public var code: String
    /// One sentence for a developer.
    public var message: String

    public init(code: String, message: String) {
      self.code = code
      self.message = message
    }

    public var description: String { "\(code): \(message)" }
  }

  /// The new report key, for the app's extensions.
  public var reportKey: String
  public var warnings: [Warning]

  public init(reportKey: String, warnings: [Warning] = []) {
    self.reportKey = reportKey
    self.warnings = warnings
  }

  /// Parses a reply. Throws `malformed` if it has no report key.
  package init(_ reply: JSON) throws {
    guard let key = reply["reportKey"]?.text else {
      throw StillwireError(.malformed, "the reply has no report key")
    }
    self.init(
      reportKey: key,
      warnings: (reply["warnings"]?.items ?? []).compactMap { warning in
        warning["code"]?.text.map { Warning(code: $0, message: warning["message"]?.text ?? "") }
      })
  }
}
