// SPDX-License-Identifier: Apache-2.0
// The base class of a notification service extension. It performs the decisions of `NotificationRun` with the intents
// of Apple's frameworks.
#if canImport(Intents) && canImport(UserNotifications) && !os(tvOS)
  import Foundation
  public import Intents
  public import StillwireExtension
  public import UserNotifications

  /// The values with which a ``StillwireNotificationService`` handles notifications.
  public struct NotificationServiceSettings: Sendable {
    /// The URLs of the relay, or of all nodes of a cluster. Without an address the extension sends no receipts.
    public var addresses: [RelayAddress]
    /// The cache of the pictures. Is `nil` if notifications show no pictures and no images.
    public var pictures: AvatarCache?
    /// The type of a call, audio or video. Is that of the payload if it is `nil`.
    public var capability: INCallCapability?
    /// The accounts of the phone: a push to a user who is not signed in is hidden, and the report key of the recipient
    /// sends receipts whose payload has no valid token. Is `nil` if the extension shows all pushes.
    public var accounts: AccountStore?
    /// Stores the people of the pushes, for the messages that the app donates. Is `nil` if the app donates none.
    public var people: PersonBook?
    /// Maximum time until the delivery, at most ``StillwireExtension/NotificationDelivery/maxLimit``. Three quarters of it
    /// are for the pictures, the rest is for the donation. If a picture server does not answer, each notification is
    /// delayed by this time.
    public var limit: Duration
    /// Returns `CNContact.identifier` of a person whose contact the app knows. Allowed People of a Focus are contacts:
    /// with the identifier iOS need not match the handle.
    public var contactIdentifier: @Sendable (IntentPerson) -> String?

    public init(
      addresses: [RelayAddress] = [], pictures: AvatarCache? = nil, capability: INCallCapability? = nil,
      accounts: AccountStore? = nil, people: PersonBook? = nil,
      limit: Duration = NotificationDelivery.limit,
      contactIdentifier: @escaping @Sendable (IntentPerson) -> String? = { _ in nil }
    ) {
      self.addresses = addresses
      self.pictures = pictures
      self.capability = capability
      self.accounts = accounts
      self.people = people
      self.limit = limit
      self.contactIdentifier = contactIdentifier
    }
  }

  /// A notification service extension that shows messages and calls as communication notifications.
  ///
  /// - It loads the pictures, and sends the receipt at the same time. Then it donates the intent, updates the content and
  ///   delivers it.
  /// - It calls the content handler exactly once, on any thread.
  /// - The image of the push, `push.image` of the sender, becomes an attachment.
  /// - Its best attempt is the communication notification without a picture, so that a slow picture cannot prevent the
  ///   breakthrough of a Focus.
  /// - It shows a digest, a plain notification, and a push whose intent the system rejects with the text of the push.
  /// - It removes the notifications that the push withdraws.
  /// - For a push to a user who is not signed in it shows only "New message", and it repeats open sign-outs. It checks
  ///   this at the arrival and at the delivery, and donates nothing for such a user.
  ///
  /// Make the principal class of the extension a subclass, and override ``settings``.
  open class StillwireNotificationService: UNNotificationServiceExtension {
    // `lock` protects `run`, because the system may call the two methods on different threads.
    private let lock = NSLock()
    private var run: NotificationRun<UNNotificationContent>?

    /// The settings, which the extension reads once for each notification. The inherited settings have no address and
    /// no pictures.
    open var settings: NotificationServiceSettings { NotificationServiceSettings() }

    open override func didReceive(
      _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {
      let original = request.content
      let settings = settings
      let origin = PushOrigin(original.userInfo)
      if let accounts = settings.accounts, let hidden = settings.hidden(origin) {
        return show(hidden, accounts, contentHandler)
      }
      let intent = CommunicationPayload(original).map { IncomingIntent($0, settings) }
      let run = NotificationRun(
        original: original, isCommunication: intent != nil, work: work(for: original, intent, settings),
        limit: settings.limit,
        edits: NotificationEdits(
          attach: { content, file in content.attaching(file) },
          update: { content, picture in intent.flatMap { try? content.updating(from: $0.provider(picture: picture)) } },
          hide: { settings.hidden(origin) }),
        deliver: contentHandler)
      lock.withLock { self.run = run }
      run.start()
    }

    /// Shows only "New message". First repeats the open sign-outs at the relay, because the system may suspend the
    /// extension after the delivery. Each request has a timeout.
    private func show(
      _ content: UNNotificationContent, _ accounts: AccountStore,
      _ contentHandler: @escaping (UNNotificationContent) -> Void
    ) {
      let hidden = NotificationRun(
        original: content, isCommunication: false, work: NotificationWork(), deliver: contentHandler)
      lock.withLock { run = hidden }
      Task {
        await accounts.repeatSignOuts(in: .current())
        hidden.start()
      }
    }

    open override func serviceExtensionTimeWillExpire() { lock.withLock { run }?.expire() }

    private func work(
      for content: UNNotificationContent, _ intent: IncomingIntent?, _ settings: NotificationServiceSettings
    ) -> NotificationWork {
      let (receipt, notification) = (ArrivalReceipt(content), content.notificationID)
      let origin = PushOrigin(content.userInfo)
      var work = NotificationWork(donate: { picture in
        guard let intent else { return }
        let donation: @Sendable () async -> Void = {
          settings.people?.store(intent.sender)
          await intent.donate(picture: picture)
        }
        guard let accounts = settings.accounts else { return await donation() }
        await accounts.donate(for: origin, donation) {
          settings.people?.removeAll()
          settings.pictures?.removeAll()
          try? await INInteraction.deleteDonations(of: intent.group)
        }
      })
      if let pictures = settings.pictures {
        if let picture = intent?.picture { work.loadPicture = { try await pictures.picture(picture) } }
        if let image = NotificationImage(content) { work.loadImage = { try await image.file() } }
      }
      let (withdrawal, recipient) = (Withdrawal(content.userInfo), origin.recipient)
      let hasReceipt = !settings.addresses.isEmpty && (receipt != nil || notification != nil)
      let signedOut = settings.accounts.flatMap { $0.hasSignOuts ? $0 : nil }
      guard hasReceipt || signedOut != nil || !withdrawal.isEmpty else { return work }
      work.report = {
        let center = UNUserNotificationCenter.current()
        await center.removeDelivered(by: withdrawal)
        async let signedOut: Void? = signedOut?.repeatSignOuts(in: center)
        if hasReceipt, let notification, let accounts = settings.accounts {
          try? await accounts.api(of: recipient).received(notification, receipt: receipt)
        } else if hasReceipt {
          try? await receipt?.report(to: settings.addresses)
        }
        await signedOut
      }
      return work
    }
  }

  extension NotificationServiceSettings {
    /// Returns the content in place of a push to a user who is not signed in. Returns `nil` for all other pushes.
    fileprivate func hidden(_ origin: PushOrigin) -> UNNotificationContent? {
      guard let accounts, accounts.display(of: origin) == .hidden else { return nil }
      return .hidden(from: origin, hasOtherAccounts: accounts.account() != nil)
    }
  }

  /// The intent of a push. Contains only values, so that each task makes its own objects from it.
  private struct IncomingIntent: Sendable {
    let fields: IntentFields
    let sender: IntentPerson
    let picture: NotificationPicture?
    let group: DonationGroup
    let capability: INCallCapability?
    let contactIdentifier: String?

    init(_ payload: CommunicationPayload, _ settings: NotificationServiceSettings) {
      fields = IntentFields(payload)
      sender = IntentPerson(payload.sender)
      picture = payload.picture
      group = payload.donationGroup
      capability = settings.capability
      contactIdentifier = settings.contactIdentifier(sender)
    }

    /// Makes the object with which the system updates the notification.
    func provider(picture: Data?) -> any UNNotificationContentProviding {
      switch fields {
      case .sendMessage(let fields): message(fields, picture.map { INImage(imageData: $0) })
      case .startCall(let fields): call(fields, picture.map { INImage(imageData: $0) })
      }
    }

    /// Donates the intent as incoming. The notification is shown even if the donation fails.
    func donate(picture: Data?) async {
      let image = picture.map { INImage(imageData: $0) }
      let intent: INIntent =
        switch fields {
        case .sendMessage(let fields): message(fields, image)
        case .startCall(let fields): call(fields, image)
        }
      try? await INInteraction(intent, .incoming, in: group).donate()
    }

    private func message(_ fields: SendMessageFields, _ image: INImage?) -> INSendMessageIntent {
      let isOfGroup = picture?.isOfGroup == true
      return INSendMessageIntent(
        fields, senderImage: isOfGroup ? nil : image, groupImage: isOfGroup ? image : nil,
        contactIdentifier: contactIdentifier)
    }

    private func call(_ fields: StartCallFields, _ image: INImage?) -> INStartCallIntent {
      INStartCallIntent(fields, capability: capability, image: image, contactIdentifier: contactIdentifier)
    }
  }
#endif
