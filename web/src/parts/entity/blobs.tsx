/** Bytes of an entity: their size, and a way to have them. */
import { askBlob } from "../../api/ask";
import type { Entity } from "../../api/types";
import { here, target } from "../../app/session";
import { tell } from "../../app/toasts";
import { bytes } from "../times";

export function Blobs({ entity }: { entity: Entity }) {
  const fetchIt = async (property: string): Promise<void> => {
    const where = target.peek();
    const answer = await askBlob(`${here()}/blob`, {
      query: {
        entity: entity.kind,
        type: entity.type_name,
        id: entity.id,
        property,
        ...("moment" in where ? { snapshot: where.moment } : where),
      },
    });
    if (!answer.ok) return tell(answer.problem.sentence, "bad");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(answer.value);
    link.download = `${entity.id}-${property}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  return (
    <ul class="plain-list">
      {entity.blobs.map((blob) => (
        <li key={blob.property} class="row">
          <span>
            {blob.property} <span class="soft">({bytes(blob.size)})</span>
          </span>
          <button type="button" class="link" onClick={() => void fetchIt(blob.property)}>
            Save it
          </button>
        </li>
      ))}
    </ul>
  );
}
