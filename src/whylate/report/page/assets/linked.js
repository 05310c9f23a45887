/* Dots of the scattergrams and rows of the longest executions: the mouse or the focus on one marks
 * all that show the same execution. A dot leads to its row by its address, #execution-N. */
(() => {
	const shown = new Map();

	function add(id, element) {
		if (!shown.has(id)) shown.set(id, []);
		shown.get(id).push(element);
	}

	for (const link of document.querySelectorAll('svg.chart a[href^="#execution-"]')) add(link.getAttribute("href").slice(1), link);
	for (const row of document.querySelectorAll('tr[id^="execution-"]')) add(row.id, row);

	for (const elements of shown.values()) {
		if (elements.length < 2) continue;
		const mark = (on) => {
			for (const element of elements) element.classList.toggle("linked", on);
		};
		for (const element of elements) {
			element.addEventListener("mouseenter", () => mark(true));
			element.addEventListener("mouseleave", () => mark(false));
			element.addEventListener("focus", () => mark(true));
			element.addEventListener("blur", () => mark(false));
		}
	}
})();
