// Package dashboard serves the dashboard: the pages that package route lists, and their forms, each
// of which becomes one operation of the broker.
//
// Everything works without scripts. An invalid form is shown again with 422 and errors beside
// its fields; a valid one is answered with a redirect and a notice that is shown once.
// Destructive operations ask for confirmation, on a page of their own, with exact numbers. The
// form sends the confirmed number back, and the broker refuses if there are more by then.
package dashboard
