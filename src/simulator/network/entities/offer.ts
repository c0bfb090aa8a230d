/** How an item is offered: its index in its role decides. */
export function offerOf(index: number): 'getgems_sale' | 'getgems_auction' | 'telemint' | undefined {
  return ({ 0: 'getgems_sale', 1: 'getgems_auction', 2: 'telemint' } as const)[index % 9];
}
