// SPDX-License-Identifier: Apache-2.0
// Tests the accounts of a phone as a state machine: sign-ins, sign-outs, and the content of pushes.
import Foundation
import RelayProtocol
import Testing

@testable import StillwireExtension

@Suite struct PhoneAccountsTests {
  typealias Account = PhoneAccounts.Account
  typealias SignOut = PhoneAccounts.SignOut

  static let record = PushRegistration.Record(digest: "d", time: Date(timeIntervalSince1970: 1_700_000_000))
  static let ann = Account(user: "ann", device: "a1", registration: record)
  static let bob = Account(user: "bob", device: "b1", registration: record)
  static let annOut = SignOut(user: "ann", device: "a1", isRequested: true)

  static let signedOut = PhoneAccounts()
  static let neverRequested = PhoneAccounts(signOuts: [SignOut(user: "ann", device: "a1")])
  static let requested = PhoneAccounts(accounts: [Account(user: "ann", device: "a1", isRequested: true)])
  static let signedIn = PhoneAccounts(accounts: [ann])
  static let both = PhoneAccounts(accounts: [ann, bob])
  static let open = PhoneAccounts(signOuts: [annOut])
  static let openWithBob = PhoneAccounts(accounts: [bob], signOuts: [annOut])
  static let again = PhoneAccounts(accounts: [Account(user: "ann", device: "a2")], signOuts: [annOut])

  /// States, inputs, and the expected states and effects.
  static let table:
    [(name: String, PhoneAccounts, PhoneAccounts.Input, PhoneAccounts, effects: [PhoneAccounts.Effect])] = [
      (
        "a sign-in", signedOut, .signedIn("ann", "a1"), PhoneAccounts(accounts: [Account(user: "ann", device: "a1")]),
        []
      ),
      ("a second sign-in", signedIn, .signedIn("ann", "a1"), signedIn, []),
      (
        "another device after a restored backup", signedIn, .signedIn("ann", "a2"),
        PhoneAccounts(accounts: [Account(user: "ann", device: "a2")]), []
      ),
      (
        "a registration", PhoneAccounts(accounts: [Account(user: "ann", device: "a1")]),
        .registered("ann", "a1", record), signedIn, []
      ),
      (
        "the last registration is at the end", both, .registered("ann", "a1", record),
        PhoneAccounts(accounts: [bob, ann]), []
      ),
      (
        "a sign-out", signedIn, .signedOut("ann", "a1"), open,
        [.forgetDevice("ann", "a1")]
      ),
      (
        "a sign-out while the Keychain is locked", signedIn, .signedOut("ann", nil), open,
        [.forgetDevice("ann", "a1")]
      ),
      (
        "a sign-out of one of two", both, .signedOut("ann", "a1"), openWithBob,
        [.forgetDevice("ann", "a1")]
      ),
      ("a sign-out of an unknown user", signedIn, .signedOut("bob", nil), signedIn, []),
      (
        "a sign-out before the first registration", signedOut, .signedOut("ann", "a1"), neverRequested,
        [.forgetDevice("ann", "a1")]
      ),
      (
        "another user signs in", open, .signedIn("bob", "b1"),
        PhoneAccounts(
          accounts: [Account(user: "bob", device: "b1")], signOuts: [annOut]), []
      ),
      ("the same user signs in again", open, .signedIn("ann", "a2"), again, []),
      ("a contact", openWithBob, .reached, openWithBob, [.send(annOut)]),
      ("a contact without a sign-out", both, .reached, both, []),
      (
        "the relay confirms", openWithBob, .replied("a1", .confirmed), PhoneAccounts(accounts: [bob]),
        [.removeKey("a1"), .forgetDevice("ann", "a1")]
      ),
      (
        "the device has ended", open, .replied("a1", .ended), signedOut, [.removeKey("a1"), .forgetDevice("ann", "a1")]
      ),
      (
        "a registration begins", PhoneAccounts(accounts: [Account(user: "ann", device: "a1")]),
        .requested("ann", "a1"), requested, []
      ),
      ("a registration begins after the sign-out", neverRequested, .requested("ann", "a1"), open, []),
      ("a registration of another device", both, .requested("ann", "a2"), both, []),
      ("a sign-out before the reply", requested, .signedOut("ann", "a1"), open, [.forgetDevice("ann", "a1")]),
      ("a second sign-out", open, .signedOut("ann", "a1"), open, [.forgetDevice("ann", "a1")]),
      ("a lost reply to the registration", open, .replied("a1", .noKey), open, []),
      (
        "the device was never registered", neverRequested, .replied("a1", .noKey), signedOut,
        [.removeKey("a1"), .forgetDevice("ann", "a1")]
      ),
      ("the relay does not answer", open, .replied("a1", .failed), open, []),
      ("a reply about another device", open, .replied("b1", .confirmed), open, []),
      ("a second reply", signedOut, .replied("a1", .confirmed), signedOut, []),
      (
        "the confirmation leaves a newer sign-in", again, .replied("a1", .confirmed),
        PhoneAccounts(accounts: [Account(user: "ann", device: "a2")]), [.removeKey("a1"), .forgetDevice("ann", "a1")]
      ),
      ("a registration ends after the sign-out", open, .registered("ann", "a1", record), open, [.send(annOut)]),
      (
        "a registration ends after the confirmation", signedOut, .registered("ann", "a1", record), open,
        [.send(annOut)]
      ),
      (
        "a registration ends after a newer sign-in", PhoneAccounts(accounts: [Account(user: "ann", device: "a2")]),
        .registered("ann", "a1", record), again, [.send(annOut)]
      ),
    ]

  @Test(arguments: table.indices) func `an input changes the accounts`(_ index: Int) {
    let (name, before, input, after, effects) = Self.table[index]
    var accounts = before
    #expect(accounts.apply(input) == effects, "\(name)")
    #expect(accounts == after, "\(name)")
  }

  /// States, pushes, and the expected contents.
  static let displays: [(PhoneAccounts, PushOrigin, PhoneAccounts.Display)] = [
    (signedIn, .relay("ann"), .full), (signedIn, .relay("bob"), .hidden), (signedIn, .relay(nil), .full),
    (signedIn, .other, .full),
    (open, .relay("ann"), .hidden), (open, .relay("bob"), .hidden), (open, .relay(nil), .hidden), (open, .other, .full),
    (openWithBob, .relay("ann"), .hidden), (openWithBob, .relay("bob"), .full), (openWithBob, .relay(nil), .hidden),
    (openWithBob, .other, .full),
    // After the confirmation, a push that Apple has delayed.
    (signedOut, .relay("ann"), .hidden), (signedOut, .relay(nil), .hidden), (signedOut, .other, .full),
    (again, .relay("ann"), .full),
  ]

  @Test(arguments: displays.indices) func `a push shows its text only if its recipient is signed in`(_ index: Int) {
    let (accounts, origin, display) = Self.displays[index]
    #expect(accounts.display(of: origin) == display)
  }

  @Test func `the notifications of users who are not signed in are hidden`() {
    let accounts = PhoneAccounts(accounts: [.init(user: "bob", device: "b1")])
    #expect(
      accounts.identifiersToHide(in: WithdrawalTests.delivered) == [
        "ann tea/1", "ann tea/2", "ann tea/3", "ann cake/1", "digest", "two rooms", "replaced", "invitation", "plain",
      ])
    #expect(
      PhoneAccounts().identifiersToHide(in: WithdrawalTests.delivered)
        == WithdrawalTests.delivered.dropLast(2).map(\.identifier))
  }

  @Test func `the device of an open sign-out is not used again`() {
    #expect(!Self.open.isUsable("a1"))
    #expect(Self.open.isUsable("a2") && Self.signedIn.isUsable("a1"))
  }

  @Test func `a phone has at most 8 accounts`() {
    var accounts = PhoneAccounts()
    for number in 1...8 {
      #expect(accounts.apply(.signedIn(UserID(rawValue: "u\(number)")!, "d")) == [])
    }
    let full = accounts
    #expect(accounts.apply(.signedIn("u9", "d")) == [.refuse])
    #expect(accounts == full && accounts.accounts.count == 8)
    #expect(accounts.apply(.signedIn("u1", "d")) == [])
    _ = accounts.apply(.signedOut("u1", "d"))
    #expect(accounts.apply(.signedIn("u9", "d")) == [])
  }

  @Test func `beyond 32 open sign-outs the oldest is dropped, and its user stays hidden`() {
    var accounts = PhoneAccounts()
    for number in 1...33 {
      let (user, device) = (UserID(rawValue: "u\(number)")!, DeviceID(rawValue: "d\(number)")!)
      _ = accounts.apply(.signedIn(user, device))
      let effects = accounts.apply(.signedOut(user, device))
      #expect(effects.contains(.removeKey("d1")) == (number == 33))
    }
    #expect(accounts.signOuts.count == 32 && accounts.signOuts.first?.device == "d2")
    #expect(accounts.display(of: .relay("u1")) == .hidden)
  }

  /// Errors of the relay, and the replies that they mean.
  static let errors: [(any Error, PhoneAccounts.Reply)] = [
    (StillwireError(.unauthorized, ""), .ended), (StillwireError(.notFound, ""), .ended),
    (StillwireError(.forbidden, ""), .failed), (StillwireError(.rateLimited, ""), .failed),
    (StillwireError(.unavailable, ""), .failed), (StillwireError(.unreachable, "the answer was 401"), .failed),
    (StillwireError.timeout, .failed), (CancellationError(), .failed), (MemorySecrets.IsLocked(), .failed),
  ]

  @Test(arguments: errors.indices) func `only the relay ends a sign-out`(_ index: Int) {
    #expect(PhoneAccounts.Reply(Self.errors[index].0) == Self.errors[index].1)
  }

  @Test func `a request of the phone is that of the last account with a registration`() {
    #expect(PhoneAccounts(accounts: [Self.ann, Self.bob]).latest == Self.bob)
    let pending = Account(user: "eve", device: "e1", isRequested: true)
    #expect(PhoneAccounts(accounts: [Self.ann, Self.bob, pending]).latest == Self.bob)
    #expect(PhoneAccounts(accounts: [pending]).latest == pending)
    #expect(Self.signedOut.latest == nil)
  }

  @Test(arguments: [signedOut, signedIn, both, open, openWithBob, again, requested, neverRequested])
  func `the text of the file gives the same accounts`(_ accounts: PhoneAccounts) {
    #expect(PhoneAccounts(reading: accounts.text) == accounts)
  }

  /// Texts of a file, and the accounts that they give.
  static let texts: [(String, PhoneAccounts?)] = [
    ("", nil), ("[]", nil), ("{", nil), ("{}", signedOut), (#"{"accounts":7,"signOuts":{}}"#, signedOut),
    (
      #"{"accounts":[{"user":"ann","device":"a2"},{"user":""},7],"signOuts":[{"user":"ann","device":"a1","requested":true},{}]}"#,
      again
    ),
  ]

  @Test(arguments: texts.indices) func `a damaged file gives the accounts that it still has`(_ index: Int) {
    #expect(PhoneAccounts(reading: Self.texts[index].0.utf8) == Self.texts[index].1)
  }

  @Test func `a file has at most the maximum of accounts and sign-outs`() {
    let many = PhoneAccounts(
      accounts: (1...9).map { Account(user: UserID(rawValue: "u\($0)")!, device: "d") },
      signOuts: (1...33).map { SignOut(user: "ann", device: DeviceID(rawValue: "d\($0)")!) })
    #expect(many.accounts.count == 8 && many.accounts.last?.user == "u9")
    #expect(many.signOuts.count == 32 && many.signOuts.last?.device == "d33")
  }
}
