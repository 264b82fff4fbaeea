// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's os that StillwireApple and the sample app use, as in its Swift interface. It checks
// types, and never runs. Above each declaration is the page of Apple's documentation that it comes from. The attributes
// state the systems of that page.

// https://developer.apple.com/documentation/os/logger
@available(iOS 14, macOS 11, tvOS 14, visionOS 1, watchOS 7, *)
public struct Logger: Sendable {
  public init(subsystem: String, category: String) { fatalError() }
  // https://developer.apple.com/documentation/os/logger/warning(_:)
  public func warning(_ message: OSLogMessage) { fatalError() }
  // https://developer.apple.com/documentation/os/logger/error(_:)
  public func error(_ message: OSLogMessage) { fatalError() }
  // https://developer.apple.com/documentation/os/logger/fault(_:)
  public func fault(_ message: OSLogMessage) { fatalError() }
}

// https://developer.apple.com/documentation/os/oslogmessage
@available(iOS 14, macOS 11, tvOS 14, visionOS 1, watchOS 7, *)
public struct OSLogMessage: ExpressibleByStringInterpolation {
  public init(stringLiteral value: String) { fatalError() }
  public init(stringInterpolation: OSLogInterpolation) { fatalError() }
}

// https://developer.apple.com/documentation/os/oslogprivacy
@available(iOS 14, macOS 11, tvOS 14, visionOS 1, watchOS 7, *)
public struct OSLogPrivacy {
  public static var auto: OSLogPrivacy { fatalError() }
  // https://developer.apple.com/documentation/os/oslogprivacy/public
  public static var `public`: OSLogPrivacy { fatalError() }
}

// https://developer.apple.com/documentation/os/osloginterpolation
@available(iOS 14, macOS 11, tvOS 14, visionOS 1, watchOS 7, *)
public struct OSLogInterpolation: StringInterpolationProtocol {
  public init(literalCapacity: Int, interpolationCount: Int) { fatalError() }
  public mutating func appendLiteral(_ literal: String) { fatalError() }
  public mutating func appendInterpolation(
    _ argumentString: @autoclosure @escaping () -> String, privacy: OSLogPrivacy = .auto
  ) { fatalError() }
}
