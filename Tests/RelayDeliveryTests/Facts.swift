// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

@testable import RelayDelivery

let ann = UserID(unchecked: "ann")
let bob = UserID(unchecked: "bob")
let phone = DeviceID(unchecked: "phone")
let laptop = DeviceID(unchecked: "laptop")

let hour: Int64 = 3_600_000
let day = 24 * hour

extension Timestamp {
  /// Milliseconds after the time of the message that the tests decide.
  static func at(_ milliseconds: Int64) -> Timestamp { Timestamp(rawValue: 1_700_000_000_000 + milliseconds) }
}

extension Moment {
  /// Milliseconds after the time of the message that the tests decide, after steps of the wall clock in milliseconds.
  static func at(_ milliseconds: Int64, steps: Int64 = 0) -> Moment {
    Moment(now: .at(milliseconds), steps: .milliseconds(steps))
  }
}

extension DeliveryCase {
  /// A message that Ann sent a second ago to Bob. Bob has a device and has been away for an hour, so it is pushed.
  static let plain = DeliveryCase(
    message: MessageFacts(sender: ann, time: .at(0), expires: .at(28 * day)),
    recipient: RecipientFacts(user: bob, away: AwayFacts(since: .at(-hour), isClean: false)),
    device: DeviceFacts(),
    now: .at(1_000))

  func with(_ change: (inout DeliveryCase) -> Void) -> DeliveryCase {
    var copy = self
    change(&copy)
    return copy
  }

  func with(_ sessions: SessionFacts...) -> DeliveryCase { with { $0.recipient.sessions = sessions } }

  func at(_ milliseconds: Int64) -> DeliveryCase { with { $0.now = .at(milliseconds) } }

  var asCall: DeliveryCase { with { $0.message.kind = .call } }

  /// The device has reported that a Focus is on.
  func focused(_ mode: SilenceMode, until: Int64 = hour) -> DeliveryCase {
    with {
      $0.recipient.onFocus = mode
      $0.device?.focusedUntil = .at(until)
    }
  }

  /// The device has reported a filter that does not pass the message.
  func filtered(_ mode: SilenceMode, until: Int64 = hour) -> DeliveryCase {
    with {
      $0.recipient.onFocus = mode
      $0.message.criteria = "work"
      $0.device?.filter = FilterFacts(allow: ["home"], until: .at(until))
    }
  }

  /// The quiet hours of the recipient are on at the device.
  func quietHours(_ mode: SilenceMode, until: Int64 = hour) -> DeliveryCase {
    with { $0.device?.quiet = ActiveQuietHours(mode: mode, until: .at(until)) }
  }
}

extension SessionFacts {
  static func unreceived(_ activity: Activity, _ writing: Writing) -> SessionFacts {
    SessionFacts(activity: activity, writing: writing)
  }

  static func received(_ activity: Activity) -> SessionFacts {
    SessionFacts(activity: activity, writing: .written(at: .at(0)), hasReceived: true)
  }
}
