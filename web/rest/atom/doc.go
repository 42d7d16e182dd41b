// Package atom manages Service Bus entities over HTTP, as Atom entries in the form that
// the administration clients of its SDKs write and read.
//
//	GET             /$namespaceinfo
//	GET             /$Resources/Queues, /$Resources/Topics       lists: $skip, $top (at most 100)
//	GET PUT DELETE  /{queue or topic}
//	GET             /{topic}/Subscriptions                       a list
//	GET PUT DELETE  /{topic}/Subscriptions/{name}
//	GET             /{topic}/Subscriptions/{name}/Rules          a list
//	GET PUT DELETE  /{topic}/Subscriptions/{name}/Rules/{rule}
//
// The keywords of an address are case-insensitive, an address may end in a slash, and names may
// contain slashes. Every api-version is accepted. Descriptions are always complete, whatever the
// api-version and the parameter enrich.
//
// PUT creates an entity, or with If-Match replaces its description: a property that the body omits
// gets its default again, except those that are fixed at creation (PROP-1, PROP-2). The body may
// have its elements in any order and with any prefix; unknown elements are ignored. Responses have
// the elements in the service's order, because some clients require it.
//
// Errors are <Error><Code/><Detail/></Error>, with a sub-code in the text by which
// clients distinguish them (ERR-3, ERR-4).
package atom
