// Package pages holds what all pages of the dashboard are made with: their routes and addresses,
// the shell around them, the state of their forms, and the words that several of them share. Each
// area of the dashboard makes its pages in a package of its own; package route lists them all.
//
// A page is a view model with every number, sentence and address, used both by the handler that
// serves the page and by the hub that pushes its parts. It is made in one turn of the broker, so
// that its numbers agree with each other and with the event number it carries. Only expensive
// summaries are up to a second older, see State. Viewing never counts as use of an entity (DEC-6).
package pages
