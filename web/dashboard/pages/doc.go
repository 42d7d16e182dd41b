// Package pages holds what the pages of the dashboard share: routes and addresses, the shell
// around a page, the state of forms, and texts that several pages use. Each area of the dashboard
// makes its pages in a package of its own; package route lists them all.
//
// A page is a view model with every number, sentence and address, used both by the handler that
// serves the page and by the hub that pushes its parts. It is made in one turn of the broker, so
// that its numbers agree with each other and with the event number it carries. Only expensive
// summaries are up to a second older, see State. Viewing never counts as use of an entity (DEC-6).
package pages
