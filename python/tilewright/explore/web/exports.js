// What is taken away from the page: the picture as SVG or PNG, and texts.

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export const saveSvg = ({ svg }, name) => save(new Blob([svg], { type: "image/svg+xml" }), `${name}.svg`);

// Twice as many pixels as the picture has units, on white: a PNG does not know on what it will stand.
export async function pngOf({ svg, width, height }) {
  const scale = Math.min(2, 8000 / Math.max(width, height));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(resolve => { canvas.toBlob(resolve, "image/png"); });
}

export const savePng = async (picture, name) => save(await pngOf(picture), `${name}.png`);

// Whether it was copied: a page without the right to may still select a text.
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
