// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// What devices report of their Focus and of its filter.
extension Relay {
  func focus(_ request: HubRequest, _ user: UserHandle) async throws {
    let report = try FocusReport(request.fields, device: hub.device(of: request.session))
    let result = try await apply(report, to: user, cause: request.session)
    finish(request, Replies.focus(result))
  }

  func filter(_ request: HubRequest, _ user: UserHandle) async throws {
    let report = try FilterReport(request.fields, device: hub.device(of: request.session))
    let applied = try await apply(report, to: user)
    finish(request) { $0.bool("applied", applied) }
  }

  struct FocusResult {
    let applied: Bool
    let isFocused: Bool?
    let since: Timestamp?
    /// The time at which the device's `false` counts; `nil` when what the device said counts already.
    let settles: Timestamp?
  }

  /// Takes a report in and shows it once it is stored.
  func apply(_ report: FocusReport, to user: UserHandle, cause: SessionHandle?) async throws -> FocusResult {
    var person = recipient(user)
    var silent: DeviceID?
    if person.focus[report.device] == nil, !isBelow(limits.devicesPerUser, person.focus.count) {
      // Of apps that were deleted nobody says so.
      silent = person.focus.forgetSilent()
      if silent == nil { throw tooManyDevices }
    }
    let applied = person.focus.apply(report, now: hub.now)
    let record = person.focus[report.device]
    // What the other devices have said is stored, or is forgotten at this moment.
    try await change(user, to: person, cause: cause) { [silent] in
      if let silent { try $0.people.forgetFocus(of: silent, of: $1) }
      if let record { try $0.people.save(record, of: $1) }
    }
    tally.countFocusReport(applied: applied)
    let shown = people[user]?.focus
    return FocusResult(
      applied: applied, isFocused: shown?.isFocused, since: shown?.focusSince, settles: shown?[report.device]?.settles)
  }

  /// - Returns: Whether it was the newest of the device.
  func apply(_ report: FilterReport, to user: UserHandle) async throws -> Bool {
    var person = recipient(user)
    var silent: DeviceID?
    if person.filters[report.device] == nil, !isBelow(limits.devicesPerUser, person.filters.count) {
      silent = person.filters.forgetSilent()
      if silent == nil { throw tooManyDevices }
    }
    let applied = person.filters.apply(report, now: hub.now)
    let record = person.filters[report.device]
    try await change(user, to: person, cause: nil) { [silent] in
      if let silent { try $0.people.forgetFilter(of: silent, of: $1) }
      if let record { try $0.people.save(record, of: $1) }
    }
    return applied
  }

  private var tooManyDevices: RequestError { RequestError(.tooLarge, "one past the limit `devicesPerUser`") }
}
