// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import AppleSimulator

@Suite struct AppleSimulatorPhoneTests {
  let now = Timestamp(rawValue: 1_800_000_000_000)
  let token = String(repeating: "ab", count: 32)

  func received(
    _ id: String, bundle: String = "chat", collapseID: String? = nil, expires: Duration? = .seconds(60),
    at time: Duration = .zero
  ) -> AppleSimulator.Received {
    AppleSimulator.Received(
      id: id, bundle: bundle, collapseID: collapseID,
      expiration: expires.map { (now + time + $0).rawValue / 1000 }, time: now + time, payload: [])
  }

  @Test func `a phone that is off keeps the newest notification of each app, and shows it when it is on`() {
    var phone = AppleSimulator.Phone()
    phone.isOn = false
    #expect(phone.take(received("1"), for: "chat", now: now) == .stored)
    #expect(phone.take(received("2", at: .seconds(1)), for: "chat", now: now + .seconds(1)) == .stored)
    #expect(phone.take(received("3", bundle: "mail"), for: "mail", now: now) == .stored)
    #expect(phone.shown.isEmpty)
    phone.turnOn(now: now + .seconds(2))
    #expect(phone.shown.map(\.id) == ["3", "2"])
    #expect(phone.stored.isEmpty)
  }

  @Test func `a notification that must not wait is dropped, and replaces no waiting one`() {
    var phone = AppleSimulator.Phone()
    phone.isOn = false
    #expect(phone.take(received("1"), for: "chat", now: now) == .stored)
    var once = received("2")
    once.expiration = 0
    #expect(phone.take(once, for: "chat", now: now) == .dropped)
    #expect(phone.take(received("3", expires: .zero), for: "chat", now: now) == .dropped)
    #expect(phone.stored.values.map(\.id) == ["1"])
  }

  @Test func `a notification that expired while it waited is not shown`() {
    var phone = AppleSimulator.Phone()
    phone.isOn = false
    #expect(phone.take(received("1", expires: .seconds(60)), for: "chat", now: now) == .stored)
    #expect(phone.take(received("2", bundle: "mail", expires: nil), for: "mail", now: now) == .stored)
    var other = phone
    phone.turnOn(now: now + .seconds(59))
    #expect(phone.shown.map(\.id) == ["1", "2"])
    other.turnOn(now: now + .seconds(60))
    #expect(other.shown.map(\.id) == ["2"])
  }

  @Test func `a notification replaces the one with the same collapse id and app`() {
    var phone = AppleSimulator.Phone()
    for (id, bundle) in [("1", "chat"), ("2", "mail"), ("3", "chat")] {
      #expect(phone.take(received(id, bundle: bundle, collapseID: "a"), for: bundle, now: now) == .shown)
    }
    #expect(phone.shown.map(\.id) == ["2", "3"])
    for number in 0..<AppleSimulator.Phone.maxShown {
      _ = phone.take(received("n\(number)"), for: "chat", now: now)
    }
    #expect(phone.shown.count == AppleSimulator.Phone.maxShown)
    #expect(phone.shown.first?.id == "n0")
  }

  func take(
    _ shelf: AppleSimulator.Shelf, _ token: String, settings: AppleSimulator.Settings = .init(), later: Duration = .zero
  )
    -> AppleSimulator.Refusal?
  {
    let notification = AppleSimulator.Notification(token: token, bundle: "chat")
    do throws(AppleSimulator.Refusal) {
      _ = try shelf.take(notification, id: "1", payload: [], settings: settings, now: now + later)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a token has 64 digits, and a token in a script has any number`() {
    let shelf = AppleSimulator.Shelf()
    #expect(take(shelf, token) == nil)
    #expect(take(shelf, "abcd") == .init(.badDeviceToken))
    _ = shelf.change("abcd") { _ in }
    #expect(take(shelf, "abcd") == nil)
    #expect(take(shelf, "abce") == .init(.badDeviceToken))
    #expect(shelf.forget("abcd"))
    #expect(take(shelf, "abcd") == .init(.badDeviceToken))
    var settings = AppleSimulator.Settings()
    settings.tokenDigits = 8
    #expect(take(shelf, "0123abcd", settings: settings) == nil)
    #expect(take(shelf, "0123abcd00", settings: settings) == .init(.badDeviceToken))
  }

  @Test func `a script determines the refusals of a device`() {
    let shelf = AppleSimulator.Shelf()
    let long = now - .seconds(1000)
    _ = shelf.change(token) { $0.topics = ["mail"] }
    #expect(take(shelf, token) == .init(.deviceTokenNotForTopic))
    _ = shelf.change(token) { $0.expired = long }
    #expect(take(shelf, token) == .init(.expiredToken, timestamp: long))
    _ = shelf.change(token) { $0.unregistered = long }
    #expect(take(shelf, token) == .init(.unregistered, timestamp: long))
    _ = shelf.change(token) { $0.environment = .production }
    #expect(take(shelf, token) == .init(.badDeviceToken))
  }

  @Test func `each device has its own limit per minute`() {
    let shelf = AppleSimulator.Shelf()
    var settings = AppleSimulator.Settings()
    settings.mostPerDevice = 2
    let other = String(repeating: "cd", count: 32)
    for _ in 0..<2 { #expect(take(shelf, token, settings: settings) == nil) }
    #expect(take(shelf, token, settings: settings, later: .seconds(59)) == .init(.tooManyRequests))
    #expect(take(shelf, other, settings: settings, later: .seconds(59)) == nil)
    #expect(take(shelf, token, settings: settings, later: .seconds(60)) == nil)
  }

  @Test func `a script can set at most 10,000 devices`() {
    let shelf = AppleSimulator.Shelf()
    for number in 0..<AppleSimulator.Shelf.maxPhones { _ = shelf.change(String(number)) { _ in } }
    #expect(shelf.change("one more") { _ in true } == nil)
    #expect(shelf.change("7") { _ in true } == true)
  }
}
