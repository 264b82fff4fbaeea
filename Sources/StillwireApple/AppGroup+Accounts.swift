// SPDX-License-Identifier: Apache-2.0
// The sign-out of a user, and the pushes that wake the app.
#if canImport(Intents) && canImport(Security) && canImport(UserNotifications) && !os(tvOS)
  public import StillwireExtension
  import UserNotifications

  extension AppGroup {
    /// Signs a user out on this phone, also without a connection and without a token of the user.
    ///
    /// From then on the phone shows no text of a push to this user. The method removes the user's notifications, all
    /// pictures of the cache and all donated interactions: the next pushes of the other accounts bring these back. It
    /// clears the badge if no account is left. Otherwise the relay sends the number of the other accounts. Then the method
    /// ends the device at the relay. Without a confirmation of the relay, each start, registration and push repeats that.
    ///
    /// Throws the error of the file of the accounts. The user is still signed in then: repeat it.
    /// - Parameters:
    ///   - user: The user to sign out.
    ///   - identity: Returns the user's token, if there is one. Only a device whose report key has not reached the phone
    ///     needs it, because the reply to its registration was lost.
    /// - Returns: True if the relay has confirmed the sign-out.
    @discardableResult
    public func signOut(
      _ user: UserID, as identity: (@Sendable () async throws -> Identity)? = nil
    ) async throws -> Bool {
      let result = Result { try accounts.signOut(user) }
      await clean()
      if (try? accounts.accounts)?.accounts.isEmpty == true { await clearBadge() }
      try result.get()
      return await accounts.repeatSignOuts(of: user, as: identity)
    }

    /// Repeats the open sign-outs, and removes the remains of users who are not signed in. Call it at each start of the
    /// app.
    public func started() async { await received(nil) }

    /// Removes the notifications that a push withdraws, repeats the open sign-outs, and removes the remains of users who
    /// are not signed in. Call it with each push that wakes the app.
    ///
    /// - Parameter withdrawal: `Withdrawal(userInfo)`, made before the call because a `userInfo` is not Sendable.
    /// - Returns: True if a notification was removed.
    @discardableResult
    public func received(_ withdrawal: Withdrawal?) async -> Bool {
      let center = UNUserNotificationCenter.current()
      var isChanged = false
      if let withdrawal { isChanged = await center.removeDelivered(by: withdrawal) }
      let before = try? accounts.accounts
      await accounts.repeatSignOuts()
      let after = try? accounts.accounts
      // A push during the sign-out may have stored a picture or a donation. After the confirmation of the relay this
      // cannot happen again, so that one more `clean()` is enough.
      if after?.signOuts != before?.signOuts { await clean() }
      if after?.accounts.isEmpty == true { await clearBadge() }
      return await center.removeDelivered(hiddenBy: accounts) || isChanged
    }

    /// Removes the notifications of users who are not signed in, and the pictures and donations of all users.
    private func clean() async {
      let center = UNUserNotificationCenter.current()
      if (try? accounts.accounts)?.accounts.isEmpty == true {
        center.removeAllDeliveredNotifications()
      } else {
        await center.removeDelivered(hiddenBy: accounts)
      }
      pictures.removeAll()
      try? await deleteDonations()
    }

    private func clearBadge() async {
      #if !os(watchOS)
        try? await UNUserNotificationCenter.current().setBadgeCount(0)
      #endif
    }
  }
#endif
