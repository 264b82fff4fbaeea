// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's Intents that StillwireApple uses, as in its Swift interface. It checks types, and never
// runs. Above each declaration is the page of Apple's documentation that it comes from. The attributes state the systems
// of that page.
import Foundation
public import UserNotifications

// https://developer.apple.com/documentation/intents/inintent
open class INIntent: NSObject {}
// https://developer.apple.com/documentation/intents/inintentresponse
open class INIntentResponse: NSObject {}
// https://developer.apple.com/documentation/intents/inimage
open class INImage: NSObject {
  public convenience init(imageData: Data) { fatalError() }
}

// https://developer.apple.com/documentation/intents/inspeakablestring
open class INSpeakableString: NSObject {
  public init(spokenPhrase: String) { fatalError() }
}

// https://developer.apple.com/documentation/intents/inpersonhandletype
public enum INPersonHandleType: Int, Sendable {
  case unknown, emailAddress, phoneNumber
}

// https://developer.apple.com/documentation/intents/inpersonhandle
open class INPersonHandle: NSObject {
  public convenience init(value: String?, type: INPersonHandleType) { fatalError() }
}

// https://developer.apple.com/documentation/intents/inpersonsuggestiontype
public enum INPersonSuggestionType: Int, Sendable {
  case none, socialProfile, instantMessageAddress
}

// https://developer.apple.com/documentation/intents/inperson
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

// https://developer.apple.com/documentation/intents/inoutgoingmessagetype
public enum INOutgoingMessageType: Int, Sendable {
  case unknown, outgoingMessageText, outgoingMessageAudio
}

// https://developer.apple.com/documentation/intents/insendmessageattachment
@available(tvOS, unavailable)
open class INSendMessageAttachment: NSObject {}
// https://developer.apple.com/documentation/intents/inintentdonationmetadata
open class INIntentDonationMetadata: NSObject {}

// https://developer.apple.com/documentation/intents/insendmessageintentdonationmetadata
@available(iOS 15, macOS 12, visionOS 1, watchOS 8, *)
@available(tvOS, unavailable)
open class INSendMessageIntentDonationMetadata: INIntentDonationMetadata {
  public override init() { fatalError() }
  open var mentionsCurrentUser: Bool = false
  open var isReplyToCurrentUser: Bool = false
  open var notifyRecipientAnyway: Bool = false
  open var recipientCount: Int = 0
}

// https://developer.apple.com/documentation/intents/insendmessageintent
@available(iOS 10, macOS 12, visionOS 1, watchOS 3.2, *)
@available(tvOS, unavailable)
open class INSendMessageIntent: INIntent, UNNotificationContentProviding {
  @available(iOS 14, macOS 12, visionOS 1, watchOS 7, *)
  public init(
    recipients: [INPerson]?, outgoingMessageType: INOutgoingMessageType, content: String?,
    speakableGroupName: INSpeakableString?, conversationIdentifier: String?, serviceName: String?, sender: INPerson?,
    attachments: [INSendMessageAttachment]?
  ) { fatalError() }
  open var speakableGroupName: INSpeakableString? { fatalError() }
  open var donationMetadata: INIntentDonationMetadata?
}

// https://developer.apple.com/documentation/intents/inintent/setimage:forparameternamed:
extension NSObjectProtocol where Self: INIntent {
  public func setImage<Value>(_ image: INImage?, forParameterNamed name: KeyPath<Self, Value>) { fatalError() }
}

// https://developer.apple.com/documentation/intents/incallrecordfilter
@available(iOS 14, macOS 12, visionOS 1, watchOS 7, *)
@available(tvOS, unavailable)
open class INCallRecordFilter: NSObject {}
// https://developer.apple.com/documentation/intents/incallrecord
@available(tvOS, unavailable)
open class INCallRecord: NSObject {}

// https://developer.apple.com/documentation/intents/incallaudioroute
public enum INCallAudioRoute: Int, Sendable { case unknown, speakerphoneAudioRoute, bluetoothAudioRoute }

// https://developer.apple.com/documentation/intents/incalldestinationtype
public enum INCallDestinationType: Int, Sendable { case unknown, normal, emergency }

// https://developer.apple.com/documentation/intents/incallcapability
public enum INCallCapability: Int, Sendable { case unknown, audioCall, videoCall }

// https://developer.apple.com/documentation/intents/instartcallintent
@available(iOS 13, macOS 12, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
open class INStartCallIntent: INIntent, UNNotificationContentProviding {
  @available(iOS 14, macOS 12, visionOS 1, watchOS 7, *)
  public init(
    callRecordFilter: INCallRecordFilter?, callRecordToCallBack: INCallRecord?, audioRoute: INCallAudioRoute,
    destinationType: INCallDestinationType, contacts: [INPerson]?, callCapability: INCallCapability
  ) { fatalError() }
}

// https://developer.apple.com/documentation/intents/ininteractiondirection
public enum INInteractionDirection: Int, Sendable { case unspecified, outgoing, incoming }

// https://developer.apple.com/documentation/intents/ininteraction
open class INInteraction: NSObject {
  public init(intent: INIntent, response: INIntentResponse?) { fatalError() }
  open var direction: INInteractionDirection = .unspecified
  // https://developer.apple.com/documentation/intents/ininteraction/groupidentifier
  open var groupIdentifier: String?
  open func donate() async throws { fatalError() }
  // https://developer.apple.com/documentation/intents/ininteraction/delete(with:completion:)-tcq9
  open class func delete(with groupIdentifier: String) async throws { fatalError() }
  // https://developer.apple.com/documentation/intents/ininteraction/deleteall(completion:)
  open class func deleteAll() async throws { fatalError() }
}

// https://developer.apple.com/documentation/intents/infocusstatusauthorizationstatus
@available(iOS 15, macOS 12, visionOS 1, watchOS 8, *)
@available(tvOS, unavailable)
public enum INFocusStatusAuthorizationStatus: Int, Sendable {
  case notDetermined, restricted, denied, authorized
}

// https://developer.apple.com/documentation/intents/infocusstatus
@available(iOS 15, macOS 12, visionOS 1, watchOS 8, *)
@available(tvOS, unavailable)
open class INFocusStatus: NSObject {
  open var isFocused: Bool? { fatalError() }
}

// https://developer.apple.com/documentation/intents/infocusstatuscenter
@available(iOS 15, macOS 12, visionOS 1, watchOS 8, *)
@available(tvOS, unavailable)
open class INFocusStatusCenter: NSObject {
  public static var `default`: INFocusStatusCenter { fatalError() }
  // https://developer.apple.com/documentation/intents/infocusstatuscenter/requestauthorization(completionhandler:)
  open func requestAuthorization(
    completionHandler: (@Sendable (INFocusStatusAuthorizationStatus) -> Void)? = nil
  ) { fatalError() }
  open var authorizationStatus: INFocusStatusAuthorizationStatus { fatalError() }
  open var focusStatus: INFocusStatus { fatalError() }
}

// https://developer.apple.com/documentation/intents/insharefocusstatusintent
@available(iOS 15, macOS 12, visionOS 1, watchOS 8, *)
@available(tvOS, unavailable)
open class INShareFocusStatusIntent: INIntent {
  open var focusStatus: INFocusStatus? { fatalError() }
}

// https://developer.apple.com/documentation/intents/insharefocusstatusintentresponsecode
@available(iOS 15, macOS 12, visionOS 1, watchOS 8, *)
@available(tvOS, unavailable)
public enum INShareFocusStatusIntentResponseCode: Int, Sendable {
  case unspecified, ready, inProgress, success, failure, failureRequiringAppLaunch
}

// https://developer.apple.com/documentation/intents/insharefocusstatusintentresponse
@available(iOS 15, macOS 12, visionOS 1, watchOS 8, *)
@available(tvOS, unavailable)
open class INShareFocusStatusIntentResponse: INIntentResponse {
  public init(code: INShareFocusStatusIntentResponseCode, userActivity: NSUserActivity?) { fatalError() }
}

// https://developer.apple.com/documentation/intents/insharefocusstatusintenthandling
@available(iOS 15, macOS 12, visionOS 1, watchOS 8, *)
@available(tvOS, unavailable)
public protocol INShareFocusStatusIntentHandling: NSObjectProtocol {
  func handle(
    intent: INShareFocusStatusIntent, completion: @escaping @Sendable (INShareFocusStatusIntentResponse) -> Void)
}

// https://developer.apple.com/documentation/intents/inextension
open class INExtension: NSObject {
  public override init() { fatalError() }
}

// https://developer.apple.com/documentation/foundation/nsuseractivity
open class NSUserActivity: NSObject {}

// https://developer.apple.com/documentation/intents/inmessagetype
public enum INMessageType: Int, Sendable { case unspecified, text }

// https://developer.apple.com/documentation/intents/inmessage
@available(tvOS, unavailable)
open class INMessage: NSObject {
  @available(iOS 17, visionOS 1, watchOS 10, *)
  @available(macOS, unavailable)
  public convenience init(
    identifier: String, conversationIdentifier: String?, content: String?, dateSent: Date?, sender: INPerson?,
    recipients: [INPerson]?, groupName: INSpeakableString?, serviceName: String?, messageType: INMessageType,
    numberOfAttachments: NSNumber?
  ) { fatalError() }
}
