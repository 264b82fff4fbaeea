// SPDX-License-Identifier: Apache-2.0

/// The reason why the server cannot start or cannot continue, in one line for an operator.
public struct StartupError: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
