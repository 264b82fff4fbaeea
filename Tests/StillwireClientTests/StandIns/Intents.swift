// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's Intents that StillwireApple uses, as in its Swift interface. It checks types, and never
// runs.
import Foundation
public import UserNotifications

open class INIntent: NSObject {}
open class INIntentResponse: NSObject {}
open class INImage: NSObject {}

open class INSpeakableString: NSObject {
  public init(spokenPhrase: String) { fatalError() }
}

public enum INPersonHandleType: Int, Sendable {
  case unknown, emailAddress, phoneNumber
}

open class INPersonHandle: NSObject {
  public convenience init(value: String?, type: INPersonHandleType) { fatalError() }
}

public enum INPersonSuggestionType: Int, Sendable {
  case none, socialProfile, instantMessageAddress
}

open class INPerson: NSObject {
  public init(
    personHandle: INPersonHandle, nameComponents: PersonNameComponents?, displayName: String?, image: INImage?,
    contactIdentifier: String?, customIdentifier: String?
  ) { fatalError() }
  public init(
    personHandle: INPersonHandle, nameComponents: PersonNameComponents?, displayName: String?, image: INImage?,
    contactIdentifier: String?, customIdentifier: String?, isMe: Bool, suggestionType: INPersonSuggestionType
  ) { fatalError() }
}

public enum INOutgoingMessageType: Int, Sendable {
  case unknown, outgoingMessageText, outgoingMessageAudio
}

open class INSendMessageAttachment: NSObject {}
open class INIntentDonationMetadata: NSObject {}

open class INSendMessageIntentDonationMetadata: INIntentDonationMetadata {
  public override init() { fatalError() }
  open var mentionsCurrentUser: Bool = false
  open var isReplyToCurrentUser: Bool = false
  open var notifyRecipientAnyway: Bool = false
  open var recipientCount: Int = 0
}

open class INSendMessageIntent: INIntent, UNNotificationContentProviding {
  public init(
    recipients: [INPerson]?, outgoingMessageType: INOutgoingMessageType, content: String?,
    speakableGroupName: INSpeakableString?, conversationIdentifier: String?, serviceName: String?, sender: INPerson?,
    attachments: [INSendMessageAttachment]?
  ) { fatalError() }
  open var speakableGroupName: INSpeakableString? { fatalError() }
  open var donationMetadata: INIntentDonationMetadata?
}

extension NSObjectProtocol where Self: INIntent {
  public func setImage<Value>(_ image: INImage?, forParameterNamed name: KeyPath<Self, Value>) { fatalError() }
}

open class INCallRecordFilter: NSObject {}
open class INCallRecord: NSObject {}
public enum INCallAudioRoute: Int, Sendable { case unknown, speakerphoneAudioRoute, bluetoothAudioRoute }
public enum INCallDestinationType: Int, Sendable { case unknown, normal, emergency }
public enum INCallCapability: Int, Sendable { case unknown, audioCall, videoCall }

open class INStartCallIntent: INIntent, UNNotificationContentProviding {
  public init(
    callRecordFilter: INCallRecordFilter?, callRecordToCallBack: INCallRecord?, audioRoute: INCallAudioRoute,
    destinationType: INCallDestinationType, contacts: [INPerson]?, callCapability: INCallCapability
  ) { fatalError() }
}

public enum INInteractionDirection: Int, Sendable { case unspecified, outgoing, incoming }

open class INInteraction: NSObject {
  public init(intent: INIntent, response: INIntentResponse?) { fatalError() }
  open var direction: INInteractionDirection = .unspecified
  open func donate() async throws { fatalError() }
}

public enum INFocusStatusAuthorizationStatus: Int, Sendable {
  case notDetermined, restricted, denied, authorized
}

open class INFocusStatus: NSObject {
  open var isFocused: Bool? { fatalError() }
}

open class INFocusStatusCenter: NSObject {
  public static var `default`: INFocusStatusCenter { fatalError() }
  open var authorizationStatus: INFocusStatusAuthorizationStatus { fatalError() }
  open var focusStatus: INFocusStatus { fatalError() }
}

open class INShareFocusStatusIntent: INIntent {
  open var focusStatus: INFocusStatus? { fatalError() }
}
