// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's App Intents that StillwireApple uses, as in its Swift interface. It checks types, and
// never runs. Above each declaration is the page of Apple's documentation that it comes from. The attributes state the
// systems of that page.

// https://developer.apple.com/documentation/appintents/appintent
public protocol AppIntent: Sendable {}

// https://developer.apple.com/documentation/appintents/setfocusfilterintent
@available(iOS 16, macOS 13, tvOS 16, visionOS 1, watchOS 9, *)
public protocol SetFocusFilterIntent: AppIntent {}

// https://developer.apple.com/documentation/appintents/setfocusfilterintent/current
extension SetFocusFilterIntent {
  public static var current: Self { get async throws { fatalError() } }
}
