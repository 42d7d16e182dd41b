// Package atom is the administration of Service Bus over HTTP: entities as Atom
// entries, as the administration clients of its SDKs write and read them.
//
//	GET             /$namespaceinfo
//	GET             /$Resources/Queues, /$Resources/Topics       lists: $skip, $top (at most 100)
//	GET PUT DELETE  /{queue or topic}
//	GET             /{topic}/Subscriptions                       a list
//	GET PUT DELETE  /{topic}/Subscriptions/{name}
//	GET             /{topic}/Subscriptions/{name}/Rules          a list
//	GET PUT DELETE  /{topic}/Subscriptions/{name}/Rules/{rule}
//
// The words of an address have no case, a slash may follow, and names may contain
// slashes. Every api-version is taken, and what a description carries does not
// depend on it, nor on enrich: it always has everything.
//
// PUT creates, with If-Match it replaces what is there: whatever a description
// leaves out has its default again, but for what is fixed at creation (PROP-1,
// PROP-2). The body may have its elements in any order and by any prefix; what is
// unknown in it is passed over. Answers have them in the order that the service
// has them in, because some clients insist.
//
// Errors are <Error><Code/><Detail/></Error>, with a sub-code in the text by which
// clients tell them apart (ERR-3, ERR-4).
package atom
